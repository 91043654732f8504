"""A folder here or on a remote file system: any that `fsspec` knows, such as ``s3://``."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import fsspec
from fsspec.core import url_to_fs
from fsspec.registry import known_implementations

from gile_lightning.errors import InputError, nearest


def is_url(path: Path | str | None) -> bool:
    """Whether a path is the URL of a file system, such as ``s3://bucket/folder``."""
    return "://" in str(path)


def check_protocol(url: str) -> None:
    """Import what the protocol of a URL needs.

    Raises:
        InputError: nothing is known by that protocol, or its package is not installed.
    """
    protocol = url.partition("://")[0] if is_url(url) else "file"
    try:
        fsspec.get_filesystem_class(protocol)
    except ValueError as error:
        raise InputError(
            f"{url}: no file system is known as {protocol!r}"
            f"{nearest(protocol, known_implementations)}"
        ) from error
    except ImportError as error:
        package = known_implementations.get(protocol, {}).get("class", "").partition(".")[0]
        remedy = f" (pip install {package})" if package not in ("", "fsspec") else ""
        raise InputError(f"{url}: {error}{remedy}") from error


class Folder:
    """A folder that need not exist yet.

    Attributes:
        url: of the folder; a path if it is here.
        files: the file system.

    Raises:
        InputError: the file system is not known, does not answer or does not let us in; so do
            the methods.
    """

    def __init__(self, url: str) -> None:
        self.url = url if url.endswith("://") else url.rstrip("/")
        check_protocol(url)
        with self._explained():
            self.files, path = url_to_fs(self.url)
        self._path: str = path

    def path(self, name: str) -> str:
        """Return the path of a file, as ``files`` knows it."""
        return f"{self._path}/{name}"

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        with self._explained():
            return bool(self.files.isfile(self.path(name)))

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if there is none."""
        with self._explained():
            try:
                content: bytes = self.files.cat_file(self.path(name))
            except FileNotFoundError:
                return None
        return content

    def read_ranges(self, ranges: Sequence[tuple[str, int, int]]) -> list[bytes]:
        """Return parts of files (name, start, stop), all at once where the file system can."""
        if not ranges:
            return []
        names, starts, stops = map(list, zip(*ranges, strict=True))
        paths = [self.path(str(name)) for name in names]
        with self._explained():
            contents: list[bytes] = self.files.cat_ranges(paths, starts, stops, on_error="raise")
        return contents

    def write(self, name: str, content: bytes) -> None:
        """Write a file."""
        with self._explained():
            self.files.makedirs(self._path, exist_ok=True)
            self.files.pipe_file(self.path(name), content)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for reading."""
        with self._explained():
            opened = self.files.open(self.path(name), "rb")
        with opened as file:
            yield file

    def copy(self, file: Path) -> None:
        """Copy a local file into the folder."""
        with self._explained():
            self.files.put_file(str(file), self.path(file.name))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._explained(), suppress(FileNotFoundError):
            self.files.rm_file(self.path(name))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # of many kinds: network, credentials, the name of a bucket
            raise InputError(
                f"{self.url}: {type(error).__name__}: {error}; is data.cache_dir right, and are "
                "there credentials for it?"
            ) from error
