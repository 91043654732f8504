"""Launches fits: each is a process with a run folder, a log, a lock and a slot."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import IO

from gile_lightning.commands.fork_server import Forked, ForkServer
from gile_lightning.common import guard

LOG, LOCK, RUNNING = "log.txt", ".lock", ".running"  # in a run folder
CONFIG = "config.yaml"  # there too, as `fit` writes it when a run begins
FIT = ("-m", "gile_lightning.fit")

_PAUSE = 0.2  # seconds between two looks at a process
# what a library of PyTorch lists at the exit: nothing that a process has failed of
_LEFT_BEHIND = re.compile(r"nanobind: | - (leaked|\.\.\. skipped)|See https://nanobind\.")
_GRACE = 15.0  # seconds that a process has to end when it is told to
# variables of SLURM and torchrun: a command may be one of their tasks, its fits are not
_FOREIGN = (
    *("SLURM_", "TORCHELASTIC_", "RANK", "LOCAL_", "GROUP_", "ROLE_", "NODE_RANK"),
    *("WORLD_SIZE", "MASTER_"),
)


class StoppedError(Exception):
    """The fit was ended because the launcher stops."""


def lock(folder: Path, name: str = LOCK) -> IO[str] | None:
    """Make a run folder, and lock it until the file is closed; None if it is locked already.

    Args:
        folder: the run folder.
        name: `LOCK` for the launcher of a fit, `RUNNING` for the fit itself.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / name).open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


class Launcher:
    """Runs fits in slots, side by side.

    Ctrl-C, SIGTERM and the first error end all fits, and so does the end of this process, however
    it comes. A fit that was begun in its folder goes on from its newest checkpoint. Its lock is
    held by this process and by its own, so no other launcher runs it meanwhile.

    Args:
        jobs: number of slots.
        devices: CUDA devices of a slot, such as ``0`` or ``0,1``; slots take them in turn.
        threads: CPU threads of each process.

    Attributes:
        stopped: set as soon as no fit may be started any more.
    """

    def __init__(self, jobs: int = 1, devices: Sequence[str] = (), threads: int = 1) -> None:
        self.jobs, self.devices, self.threads = jobs, devices, threads
        self.stopped = threading.Event()
        self._server: ForkServer | None = None

    def run(self, work: Callable[[int], None]) -> None:
        """Call ``work`` with the number of every slot, each in a thread, until all have returned.

        Raises:
            SystemExit: this process got SIGTERM; the status is that of a process it has ended.
            BaseException: the first that a slot has raised.
        """
        self.stopped.clear()
        slots: list[Future[None]] = []
        before = signal.signal(signal.SIGTERM, _terminate)
        try:
            # in this thread: the server ends with the one that starts it
            self._server = ForkServer(self._environment()) if sys.platform == "linux" else None
            with ThreadPoolExecutor(self.jobs) as pool:  # which waits for the slots at its end
                try:
                    slots += [pool.submit(work, slot) for slot in range(self.jobs)]
                    wait(slots, return_when=FIRST_EXCEPTION)
                finally:
                    self.stopped.set()
        finally:
            if self._server:
                self._server.close()
                self._server = None
            signal.signal(signal.SIGTERM, before)
        for slot in slots:
            with suppress(StoppedError):
                slot.result()

    def fit(
        self,
        slot: int,
        folder: Path,
        arguments: Sequence[str],
        held: IO[str],
        program: Sequence[str] = FIT,
        environment: Mapping[str, str] | None = None,
        watch: Callable[[], None] = lambda: None,
    ) -> int:
        """Run a fit to its end; returns its exit status.

        The files in its folder say whether it has succeeded: where several processes share a fit,
        the status is not that of all of them.

        Args:
            slot: where it runs.
            folder: its run folder.
            arguments: of the command `fit`, without the run folder.
            held: the folder's lock.
            program: arguments of Python that run the command.
            environment: variables that it has beside those of this process.
            watch: called again and again; ends the fit by an error.

        Raises:
            StoppedError: it was ended because the launcher stops.
        """
        command = [*program, *arguments, "--trainer.enable_progress_bar", "false"]
        command += ["--output", str(folder)]
        variables = {**self._environment(), **(environment or {})}
        if self.devices:  # which are the only ones that the process sees
            own = self.devices[slot % len(self.devices)]
            command += ["--trainer.devices", str(len(own.split(",")))]
            variables["CUDA_VISIBLE_DEVICES"] = own
        if (folder / CONFIG).is_file():
            command += ["--ckpt_path", "last"]
        with (folder / LOG).open("ab") as log:
            log.write(f"python {' '.join(command)}\n".encode())
            log.flush()
            process = self._start(command, variables, log, held)
        try:
            while process.poll() is None:
                stopped = self.stopped.wait(_PAUSE)
                watch()
                if stopped:
                    raise StoppedError
        finally:
            _stop(process)
        return process.wait(0)

    def _environment(self) -> dict[str, str]:
        """Return the variables of all fits."""
        own = {key: x for key, x in os.environ.items() if not key.startswith(_FOREIGN)}
        return own | {"OMP_NUM_THREADS": str(self.threads)}

    def _start(
        self, command: Sequence[str], environment: Mapping[str, str], log: IO[bytes], held: IO[str]
    ) -> subprocess.Popen[bytes] | Forked:
        """Start Python with some arguments; modules are forked from the server."""
        if self._server and command[0] == "-m":
            forked = self._server.start(command[1], command[2:], environment, log, held)
            if forked:
                return forked
        return subprocess.Popen(
            [sys.executable, guard.__file__, str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            process_group=0,  # Ctrl-C reaches this process alone, which stops the others
            pass_fds=[held.fileno()],
        )


def _stop(process: subprocess.Popen[bytes] | Forked) -> None:
    """End a process, and what it has started itself: told to, and after a time made to."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)


def tail(folder: Path, lines: int = 15) -> str:
    """Return the last lines of the log in a run folder."""
    text = (folder / LOG).read_text(encoding="utf-8", errors="replace")
    said = [line for line in text.splitlines() if not _LEFT_BEHIND.match(line)]
    return "\n".join(said[-lines:])


def exit_reason(status: int) -> str:
    """Say how a process has ended.

    >>> exit_reason(3), exit_reason(-15)
    ('status 3', 'its process was ended by SIGTERM')
    """
    if status >= 0:
        return f"status {status}"
    perhaps = ", perhaps for want of memory" if status == -signal.SIGKILL else ""
    return f"its process was ended by {signal.Signals(-status).name}{perhaps}"


def _terminate(*args: object) -> None:
    """Leave as after Ctrl-C, with the status of a process that SIGTERM has ended."""
    raise SystemExit(128 + signal.SIGTERM)
