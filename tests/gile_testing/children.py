"""Processes that tests start."""

import atexit
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Any

from gile_lightning.commands.fork_server import Forked, ForkServer


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that imports what this one can import."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}


@contextmanager
def started(*command: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start Python with some arguments; its output is read by the caller.

    The process is killed in the end: a test that fails does not wait for it.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, *map(str, command)], **pipes | options) as process:
        try:
            yield process
        finally:
            process.kill()


@functools.cache
def _server() -> ForkServer:
    server = ForkServer(environment())
    atexit.register(server.close)
    return server


class Shared:
    """What launchers have in place of a server of their own: the one of this process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.start = _server().start

    def close(self) -> None:
        """Leave the server to the others."""


@contextmanager
def forked(
    log: Path,
    module: str,
    *arguments: object,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> Iterator[Forked]:
    """Run a module as a program in a process that has the imports done; it is killed in the end.

    Args:
        log: where it writes.
        module: its name.
        arguments: of the program.
        folder: where it runs, unless it is the one of this process.
        variables: all of its environment, unless they are those of this process.
    """
    given = environment() if variables is None else variables
    with log.open("ab") as file, chdir(folder or Path.cwd()):
        process = _server().start(module, list(map(str, arguments)), given, file, file)
    assert process is not None
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


def alive(pid: int | str) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(condition: Callable[[], object], seconds: float = 120) -> None:
    """Wait until a condition holds, and fail if it takes longer."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
