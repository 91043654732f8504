"""Files that are written whole or not at all."""

import errno
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TextIO

import numpy as np
from numpy.typing import NDArray

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What is wrong where a disk is full, or a file may not grow (``ulimit -f``)."""


def no_room(error: BaseException | None) -> bool:
    """Return whether an error, or one that it was raised after, is that of a full disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            return True
        error = error.__cause__ or error.__context__
    return False


def write(path: Path, content: str | bytes) -> None:
    """Write a file at once: a reader finds the whole old file or the whole new one."""
    with _whole(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def write_above(path: Path, content: str, mark: str) -> None:
    """Write the part of a text file down to a mark; what an older file has below it stays.

    Args:
        path: the file.
        content: what stands above the mark.
        mark: the line that parts what a program writes from what is written by hand.
    """
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    _, found, below = old.partition(mark)
    write(path, content + mark + (below if found else "\n"))


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array as ``.npy``, which `numpy.load` reads; see `write`.

    `numpy.save` writes into a file by C's buffers, and says nothing if the last of them, of up to
    4 KB, does not fit on the disk.
    """
    with _whole(path) as file:
        np.lib.format.write_array(_Plain(file), array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())  # its name must not reach the disk before it


@contextmanager
def new_text(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes the place of an older one at the end, and not after an error.

    What is there but no file, such as a pipe, gets the text at once.
    """
    if path.exists() and not path.is_file():  # asked first: the target of /dev/stdout is no path
        with open(path, "w", encoding="utf-8") as file:
            yield file
        return
    path = path.resolve()
    partial = _partial(path)
    try:
        with open(partial, "w", encoding="utf-8") as file:
            yield file
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


def append(path: Path, size: int, content: bytes) -> None:
    """Write behind the first bytes of a file, so many, whatever is there already.

    The content is on the disk when this returns.
    """
    with named(path), open(path, "ab") as file:
        file.truncate(size)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def checksum(path: Path) -> tuple[int, int]:
    """Return the size in bytes and the CRC-32 of a file.

    They tell a file that was cut off or damaged by chance, not one that was changed on purpose.
    """
    crc = size = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            crc, size = zlib.crc32(chunk, crc), size + len(chunk)
    return size, crc


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Let errors of the disk that name no file name this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


class _Plain:
    """A file that NumPy does not take for one, so that Python writes and finds every error."""

    def __init__(self, file: IO[bytes]) -> None:
        self.write = file.write


@contextmanager
def _whole(path: Path) -> Iterator[IO[bytes]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    try:
        with named(path), open(partial, "wb") as file:
            yield file
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()  # on a full disk it takes the last room
        raise


def _partial(path: Path) -> Path:
    """Return where this process writes a file until it is whole."""
    return path.with_name(f".{path.name}.{os.getpid()}")
