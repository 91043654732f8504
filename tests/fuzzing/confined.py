"""Sees to it that a reader starts no program, asks no network and writes below its folder alone."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_STARTS = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pty.spawn")
_NETWORK = ("socket.connect", "socket.getaddrinfo", "urllib.Request")
_CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.symlink")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

_folders: list[str] = []


class Escape(BaseException):
    """A reader did what no file may make it do; no `except Exception` keeps it."""


@contextmanager
def confined(*folders: Path) -> Iterator[None]:
    """Raise `Escape` where anything is run, asked for or written that is not below the folders."""
    if _hook not in _added:
        _added.append(_hook)
        sys.addaudithook(_hook)
    # a module that a reader imports first would be compiled into the installation
    compiles, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    _folders[:] = [os.path.realpath(folder) for folder in folders]
    try:
        yield
    finally:
        _folders.clear()
        sys.dont_write_bytecode = compiles


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _folders:
        return
    if event in (*_STARTS, *_NETWORK):
        _folders.clear()  # as this is told, too
        raise Escape(f"{event} {args!r:.200}")
    if event in _CHANGES or (event == "open" and isinstance(args[2], int) and args[2] & _WRITING):
        place, below = args[0], event != "open" and args[-1] != -1  # an opened folder, so inside
        if isinstance(place, str | bytes | os.PathLike) and not below:
            path = os.path.realpath(os.fsdecode(place))
            inside = any(path == x or path.startswith(x + os.sep) for x in _folders)
            if not inside and not path.startswith("/dev/"):
                _folders.clear()
                raise Escape(f"{event} {path!r:.200}")


_added: list[Any] = []
