"""Fits as processes of their own, that end with the command that has started them."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from gile_lightning import guard

Process = subprocess.Popen[bytes]

_LAUNCHERS = (
    *("SLURM_", "TORCHELASTIC_", "RANK", "LOCAL_", "GROUP_", "ROLE_", "NODE_RANK"),
    *("WORLD_SIZE", "MASTER_"),
)
GRACE = 15.0  # seconds that a process has to end when it is told to


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def threads(count: int) -> int:
    """Return how many threads each of so many processes at a time has: its share of the cores.

    Never more than OMP_NUM_THREADS says, for those who share the machine with other commands:
    where there are more threads than cores, they mostly wait for each other.
    """
    share = max(1, cores() // count)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(share, int(limit)) if limit.isdigit() and int(limit) else share


def devices() -> list[str]:
    """Return the names of the CUDA devices that this process may use."""
    import torch

    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",")[:count] if visible else list(map(str, range(count)))


def lock(path: Path) -> IO[str] | None:
    """Lock a file until it is closed here and by the process that inherits it; None if it is."""
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def start(
    command: Sequence[str], log: Path, environment: Mapping[str, str], held: Iterable[IO[str]] = ()
) -> Process:
    """Start Python with these arguments; it ends when this thread has ended, however that is.

    Args:
        command: arguments of Python.
        log: the file that its output is added to, below the command itself.
        environment: variables that it has beside those of this process.
        held: locks that it holds too.
    """
    with log.open("ab") as output:
        output.write(f"python {' '.join(command)}\n".encode())
        output.flush()
        return subprocess.Popen(
            [sys.executable, guard.__file__, str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**_without_launcher(), **environment},
            process_group=0,  # Ctrl-C reaches this process alone, which stops the others
            pass_fds=[file.fileno() for file in held],
        )


def _without_launcher() -> dict[str, str]:
    """Return the environment without what tells a process that it is one of several.

    A command may be a task of SLURM; the fits that it starts are none.
    """
    return {key: x for key, x in os.environ.items() if not key.startswith(_LAUNCHERS)}


def stop(processes: Sequence[Process]) -> None:
    """End processes, and what they have started themselves: told to, and after a time made to."""
    deadline = time.monotonic() + GRACE
    for process in processes:
        _signal(process, signal.SIGTERM)
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        _signal(process, signal.SIGKILL)
        process.wait()


def tail(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log."""
    found = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(found[-lines:])


def _signal(process: Process, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
