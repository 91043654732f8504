"""Processes that tests start."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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
