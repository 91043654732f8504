"""A process that has imported all that a fit needs, and forks the fits of a launcher.

A fit then starts in a moment, where imports alone take seconds. The server trains nothing: what
must not be inherited, such as CUDA's state or threads of a computation, begins in the fits.
"""

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from gile_lightning.common import guard
from gile_lightning.common.guard import end_with_parent

_PRELOAD = (
    *("gile_lightning.fit", "gile_lightning.search.trial"),
    *("datasets", "matplotlib.figure", "torch._dynamo"),  # which a fit imports in its course
)
_LONGEST = 2**20  # bytes of a request; the system refuses longer ones


class Forked:
    """A module that the server runs as a program; it is used like a `subprocess.Popen`."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self.returncode: int | None = None
        self.pid = int(server.recv(64))

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Return the exit status, negative for a signal.

        Raises:
            subprocess.TimeoutExpired: it has not ended after so many seconds.
        """
        if self.returncode is None:
            if not select.select([self._server], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("fit", timeout)
            # without a word: the server was killed, and the system killed this process with it
            self.returncode = int(self._server.recv(64) or -signal.SIGKILL)
            self._server.close()
        return self.returncode


class ForkServer:
    """Starts the server, which ends with this process; its imports wait for the first program.

    Args:
        environment: variables of the server, read by imports; those of programs may have more.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            command = (sys.executable, guard.__file__, str(os.getpid()), "-m", __name__)
            self._process = subprocess.Popen(
                [*command, str(number)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                process_group=0,
                pass_fds=[number],
            )

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        log: IO[bytes],
        held: IO[Any],
    ) -> Forked | None:
        """Run ``python -m MODULE`` with a log and an open lock; None if the server has ended."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        asked = module, list(arguments), dict(environment), os.getcwd()
        request = json.dumps(asked).encode()
        files = [theirs.fileno(), log.fileno(), held.fileno()]
        try:
            with theirs:
                socket.send_fds(self._control, [request], files)
            return Forked(ours)
        except (OSError, ValueError):  # no server, no number
            ours.close()
            return None

    def close(self) -> None:
        """End the server."""
        self._control.close()
        self._process.wait()


def _reap(running: dict[int, socket.socket]) -> None:
    """Tell the launchers of those processes that have ended."""
    for pid in list(running):  # and no other: imports run programs, too
        try:
            ended, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # another signal has come meanwhile, and it was seen to then
            continue
        if ended:
            with running.pop(pid) as launcher, suppress(OSError):
                launcher.send(str(os.waitstatus_to_exitcode(status)).encode())


def _serve(control: socket.socket) -> list[Any] | None:
    """Fork a process per request; returns the request there, and None here in the end."""
    running: dict[int, socket.socket] = {}

    server = os.getpid()
    signal.signal(signal.SIGCHLD, lambda *args: _reap(running))
    while True:
        request, (*files,), *_ = socket.recv_fds(control, _LONGEST, 3)
        if not request:
            return None
        launcher, log, held = files
        for name in _PRELOAD:
            importlib.import_module(name)
        gc.freeze()  # or each process would copy the memory that it looks through
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        if not (pid := os.fork()):
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            end_with_parent(server)
            os.setpgid(0, 0)
            for other in (control, *running.values()):
                other.close()
            os.close(launcher)
            for standard in (1, 2):
                os.dup2(log, standard)
            os.close(log)  # and the lock stays open
            return list(json.loads(request))
        with suppress(OSError):  # it does the same, whichever is first
            os.setpgid(pid, pid)
        running[pid] = socket.socket(fileno=launcher)
        running[pid].send(str(pid).encode())
        os.close(log)
        os.close(held)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _become(module: str, arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Run a module as ``python -m`` does in a folder."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-m", *arguments]
    sys.orig_argv = [sys.executable, "-m", module, *arguments]
    sys.modules.pop(module, None)  # it begins anew, as the main program
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    if asked := _serve(socket.socket(fileno=int(sys.argv[1]))):
        _become(*asked)
