"""Vectors on disk, by the hashes of what they are of."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.common.files import append, write
from gile_lightning.common.formats import check_format

VECTORS = {"float32": "vectors.f32", "float16": "vectors.f16"}
SUMS, KEYS = "vectors.crc32", "texts.keys"
FORMAT_FILE = "format"

FORMAT = 1
"""The number of the format. Raise it when the files would be misread."""

Keys = NDArray[np.bytes_]
"""128-bit hashes, 16 bytes each; an empty one stands for a text without a subword."""

VectorsDtype = Literal["float32", "float16"]
"""How vectors are kept: ``float16`` takes half the disk, and rounds by 0.05 % at most."""

NO_KEYS = np.empty(0, "S16")


class KeyedVectors:
    """A folder with vectors of one size, by 128-bit hashes.

    One file has the vectors, row after row, and is mapped into memory; another one has their
    hashes. Rows are added, never changed, and a row counts once its hash is there: what was killed
    while it added some goes on where it was. A third file has a CRC-32 of each vector, which is
    compared whenever the vector is read.

    Args:
        folder: which `locked` makes, if there is none.
        dimension: size of the vectors.
        dtype: how they are kept.

    Raises:
        InputError: the files do not belong together.
    """

    _vectors: NDArray[np.floating]
    _sums: NDArray[np.uint32]

    def __init__(self, folder: Path, dimension: int, dtype: VectorsDtype = "float32") -> None:
        self.folder, self.dimension, self.dtype = folder, dimension, np.dtype(dtype)
        self.vectors = folder / VECTORS[dtype]
        self._open()

    def _open(self) -> None:
        """Map the vectors into memory and sort the hashes."""
        number = self.folder / FORMAT_FILE
        found = number.read_text() if number.exists() else "1"  # of a version that wrote none
        remedy = f"delete the folder {self.folder}, and the texts will be encoded anew"
        check_format(number, int(found) if found.isdecimal() else None, FORMAT, remedy)
        keys = self.folder / KEYS
        own = np.fromfile(keys, "S16", _size(keys) // 16) if keys.exists() else NO_KEYS
        for file, width in ((self.vectors, self.width), (self.folder / SUMS, 4)):
            if _size(file) < len(own) * width:
                raise InputError(f"{file}: missing, or shorter than {keys.name} says; {remedy}")
        self._order = own.argsort()
        self._keys = own[self._order]
        self._unsorted: list[Keys] = []  # of rows that were appended
        self._map()

    def _map(self) -> None:
        if len(self._keys):  # no empty file can be mapped
            shape = (len(self._keys), self.dimension)
            self._vectors = np.memmap(self.vectors, self.dtype, "r", 0, shape)
            self._sums = np.memmap(self.folder / SUMS, np.uint32, "r", 0, shape[:1])

    @property
    def width(self) -> int:
        """Return the bytes of a vector."""
        return self.dimension * self.dtype.itemsize

    def __len__(self) -> int:
        return len(self._keys)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Open the files once more, to add vectors while no other process does.

        Raises:
            InputError: the folder cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder}: cannot be written ({error.strerror}); set data.cache_dir, or the "
                "environment variable XDG_CACHE_HOME, to a folder that can"
            ) from error
        with FileLock(self.folder / "lock"):
            self._open()  # another process may have added some
            if not (self.folder / FORMAT_FILE).exists():
                write(self.folder / FORMAT_FILE, str(FORMAT))
            yield
            self._map()

    def append(self, keys: Keys, vectors: NDArray[Any]) -> None:
        """Write vectors, their checksums, and then their hashes, behind the rows that are there.

        Args:
            keys: the hashes, which are found after the next `sort`. Their vectors can be taken once
                the folder is not locked any more.
            vectors: [n, d].
        """
        row = len(self._keys) + sum(map(len, self._unsorted))
        vectors = np.ascontiguousarray(vectors, self.dtype)
        append(self.vectors, row * self.width, vectors.tobytes())
        append(self.folder / SUMS, row * 4, _sums(vectors).tobytes())
        append(self.folder / KEYS, row * 16, keys.tobytes())
        self._unsorted.append(keys)

    def sort(self) -> None:
        """Sort the hashes of new rows in."""
        keys = np.concatenate([NO_KEYS, *self._unsorted])
        self._unsorted = []
        order = keys.argsort()
        at = self._keys.searchsorted(keys[order])
        self._order = np.insert(self._order, at, len(self._keys) + order)
        self._keys = np.insert(self._keys, at, keys[order])

    def has(self, keys: Keys) -> NDArray[np.bool_]:
        """Return which of these have a vector."""
        if not len(self._keys):
            return np.zeros(len(keys), dtype=bool)
        found: NDArray[np.bool_] = self._keys[self._at(keys)] == keys
        return found

    def _at(self, keys: Keys) -> NDArray[np.int64]:
        return np.minimum(self._keys.searchsorted(keys), len(self._keys) - 1)

    def rows(self, keys: Keys) -> NDArray[np.int64]:
        """Return the rows of hashes that have a vector, for `take`; -1 for an empty one."""
        if not len(self._keys):
            return np.full(len(keys), -1)
        return np.where(keys == b"", -1, self._order[self._at(keys)])

    def take(self, rows: NDArray[np.int64]) -> Tensor:
        """Return vectors [B, d] in float32 by their rows [B]; zeros for -1.

        Raises:
            InputError: a vector is not what it was when it was written.
        """
        if not len(self._keys):
            return torch.zeros(len(rows), self.dimension)
        vectors = np.asarray(self._vectors[rows])
        if (_sums(vectors) != self._sums[rows]).any():
            raise InputError(
                f"{self.vectors}: damaged, not what was written there; delete the folder "
                f"{self.folder}, and the texts will be encoded anew"
            )
        vectors[rows < 0] = 0
        return torch.from_numpy(vectors.astype(np.float32, copy=False))


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _sums(vectors: NDArray[np.floating]) -> NDArray[np.uint32]:
    """Return the CRC-32 of each vector [B]."""
    return np.fromiter(map(zlib.crc32, vectors), np.uint32, len(vectors))
