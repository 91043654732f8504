"""Plain and gzipped files, read with a bound on what a small file may unfold to."""

import gzip
import zlib
from pathlib import Path
from typing import IO

from gile_lightning.common.errors import InputError, nearest_file

RATIO = 100  # bytes in one of a gzip file; texts have 2 to 20, files made to fill a disk 1,000
SMALL = 2**23  # bytes that any gzip file may have in it


def most_of(path: Path | str) -> int:
    """Return how many bytes a gzip file may unfold to."""
    return max(SMALL, RATIO * Path(path).stat().st_size)


class BinaryFile:
    """A plain or gzipped file (``.gz``); damage is raised as an `InputError`.

    Attributes:
        name: the path.

    Args:
        path: the file.
        zipped: whether it is gzipped, by default if its name says so.

    Raises:
        InputError: the file is missing, no gzip file though named so, damaged, or unfolds to far
            more than a gzip file of its size does.
    """

    def __init__(self, path: Path | str, zipped: bool | None = None) -> None:
        self.path, self.name = path, str(path)
        self.zipped = self.name.endswith(".gz") if zipped is None else zipped
        self.read_before = 0

    def __enter__(self) -> "BinaryFile":
        if not Path(self.path).is_file():
            raise InputError(f"{self.path}: no such file{nearest_file(self.path)}")
        self.most = most_of(self.path) if self.zipped else None
        try:
            self.file: IO[bytes] = open(self.path, "rb")
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror or error}") from error
        if self.most is not None:
            self.raw, self.file = self.file, gzip.open(self.file)  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        if self.most is not None:
            self.raw.close()

    def read(self, size: int = -1) -> bytes:
        """Read up to a number of bytes, or all."""
        if self.most is None:
            return self.file.read(size)
        left = self.most - self.read_before
        try:
            content = self.file.read(left + 1 if size < 0 else min(size, left + 1))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            if str(error).startswith("Not a gzipped file"):  # BadGzipFile tells wrong sums too
                raise InputError(f"{self.path}: not a gzip file; rename it without .gz") from error
            raise InputError(
                f"{self.path}: the gzip file is truncated or damaged; get it again"
            ) from error
        self.read_before += len(content)
        if len(content) > left:
            raise InputError(
                f"{self.path}: the gzip file unfolds to more than {self.most:,} bytes, over "
                f"{RATIO} times its size; if that is right, unfold it first"
            )
        return content
