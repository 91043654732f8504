"""Pickles of word vectors, as the authors of Pappas & Henderson (2019, TACL) share them."""

import io
import pickle
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.binary_file import RATIO, SMALL, BinaryFile

NUMBERS = {f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)} | {"f2", "f4", "f8"}


def read_pickle(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Read V words and their vectors [V, d] from a pickle that need not be trusted.

    It holds a pair: the list of words and the list of their NumPy vectors, or one array. Python 2
    or 3 wrote it, and gzip may have compressed it. Only lists, strings and arrays of numbers are
    made from it. Byte strings are UTF-8, or else Latin-1.

    Raises:
        InputError: the file is damaged, or holds something else.
    """
    with path.open("rb") as opened:
        zipped = opened.read(2) == b"\x1f\x8b"
    with BinaryFile(path, zipped or path.name.endswith(".gz")) as file:
        content = file.read()
    if not content:
        raise InputError(f"{path}: no word vectors in the file")
    try:
        pair = _Unpickler(path, content).load()
    except Exception as error:  # a damaged pickle may raise any
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path}: no pickle of words and vectors, or a truncated or damaged one ({error})"
        ) from error
    if (
        not isinstance(pair, tuple | list)
        or len(pair) != 2
        or not isinstance(pair[0], tuple | list)
    ):
        raise InputError(
            f"{path}: the pickle must hold two things, the list of words and their vectors"
        )
    words = [_text(word) for word in pair[0] if isinstance(word, str | bytes)]
    if len(words) < len(pair[0]):
        kind = next(type(word).__name__ for word in pair[0] if not isinstance(word, str | bytes))
        raise InputError(f"{path}: the vocabulary must be strings, but one is of type {kind}")
    if not words:
        raise InputError(f"{path}: no word vectors in the file")
    return words, _stack(path, words, pair[1])


def _text(word: str | bytes) -> str:
    if isinstance(word, bytes):
        try:
            return word.decode()
        except UnicodeDecodeError:
            return word.decode("latin1")
    try:
        word.encode()
    except UnicodeEncodeError:  # halves of characters, which cannot be written
        return word.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return word


def _stack(path: Path, words: list[str], vectors: Any) -> NDArray[np.float32]:
    rows = [vectors] if isinstance(vectors, _Array) else vectors
    if not isinstance(rows, tuple | list) or not all(isinstance(row, _Array) for row in rows):
        raise InputError(f"{path}: the vectors must be a list of NumPy arrays, or one array")
    arrays = [row.values for row in rows]
    whole = isinstance(vectors, _Array)
    if any(values is None or values.ndim != 1 + whole for values in arrays):
        raise InputError(f"{path}: the vectors must be arrays [d] in a list, or one array [V, d]")
    count = len(arrays[0]) if whole else len(arrays)
    if count != len(words):
        raise InputError(f"{path}: {len(words):,} words, but {count:,} vectors")
    if sum(values.size for values in arrays) > max(SMALL, RATIO * path.stat().st_size):
        raise InputError(f"{path}: the same vectors again and again, far more than the file holds")
    sizes = [values.shape[-1] for values in arrays]
    odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    if odd is not None:
        raise InputError(
            f"{path}: the vector of {words[0]!r} has {sizes[0]} numbers, that of {words[odd]!r} "
            f"{sizes[odd]}"
        )
    with np.errstate(over="ignore"):  # too large for 32 bits becomes infinite, which is reported
        return np.concatenate(arrays).astype(np.float32).reshape(count, -1)


# The stand-ins below do what a pickle may ask for. NumPy's own functions trust their arguments, and
# a pickle can hand them anything.


class _NumberType:
    """Stands in for `numpy.dtype`."""

    def __init__(self, code: str | bytes, *_: object) -> None:
        name = code.decode() if isinstance(code, bytes) else code
        if name not in NUMBERS:
            raise ValueError(f"an array of type {name!r}, which are no numbers")
        self.dtype = np.dtype(name)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, order, *structure = state
        if any(part is not None for part in structure[:3]):
            raise ValueError("an array of structures, not of numbers")
        if order in (">", b">"):
            self.dtype = self.dtype.newbyteorder(">")


class _Array:
    """Stands in for `numpy.ndarray`."""

    __slots__ = ("values",)

    def __init__(self, *_: object) -> None:
        self.values: NDArray[Any] | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        shape, kind, fortran, content = state[-4:]  # before them a version, but in the oldest
        self.fill(content, kind, shape, "F" if fortran else "C")

    def fill(self, content: Any, kind: Any, shape: Any, order: Any) -> "_Array":
        if (
            type(kind) is not _NumberType
            or type(content) not in (bytes, bytearray)
            or type(shape) is not tuple
            or min(shape) < 0  # NumPy would work out such a size
            or order not in ("C", "F")
        ):
            raise ValueError("an array that is not made as NumPy makes it")
        self.values = np.frombuffer(content, kind.dtype).reshape(shape, order=order)
        return self


class _Function:
    """A function that a pickle may call, but has no way to change."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function

    def __call__(self, *args: object) -> object:
        return self.function(*args)

    def __setstate__(self, state: object) -> None:
        raise ValueError("a state for a function")


def _encode(text: str, encoding: str) -> bytes:
    """Return the bytes that Python 3 writes as text in the protocols of Python 2."""
    if encoding != "latin1":
        raise ValueError(f"bytes in {encoding!r}, not in 'latin1'")
    return text.encode("latin1")


def _filled_array(content: object, kind: object, shape: object, order: object) -> _Array:
    return _Array().fill(content, kind, shape, order)


_ADMITTED = {
    ("_codecs", "encode"): _Function(_encode),
    ("numpy", "dtype"): _Function(_NumberType),
    ("numpy", "ndarray"): _Function(_Array),
    ("numpy.core.multiarray", "_reconstruct"): _Function(_Array),
    ("numpy._core.multiarray", "_reconstruct"): _Function(_Array),
    ("numpy.core.numeric", "_frombuffer"): _Function(_filled_array),
    ("numpy._core.numeric", "_frombuffer"): _Function(_filled_array),
}


class _Unpickler(pickle._Unpickler):  # whose inside the types of Python do not describe
    """Makes lists, tuples, strings, numbers and stand-ins of arrays, and calls nothing else.

    It is the one that Python has in Python. That in C takes as much memory as a pickle of ten bytes
    asks for.
    """

    def __init__(self, path: Path, content: bytes) -> None:
        # Python 2 strings stay bytes, which tells them from Unicode ones
        super().__init__(io.BytesIO(content), fix_imports=False, encoding="bytes")
        self.path = path

    def load_bytearray8(self) -> None:
        """Read an array of bytes; the method of the base makes room for any size first."""
        (size,) = struct.unpack("<Q", self.read(8))  # type: ignore[attr-defined]
        content = self.read(min(size, sys.maxsize))  # type: ignore[attr-defined]
        if len(content) < size:
            raise EOFError
        self.append(bytearray(content))  # type: ignore[attr-defined]

    dispatch: ClassVar[dict[int, Any]] = {
        **pickle._Unpickler.dispatch,
        pickle.BYTEARRAY8[0]: load_bytearray8,
    }

    def find_class(self, module: str, name: str, /) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise InputError(
                f"{self.path}: the pickle asks for {module}.{name}; only lists, strings and NumPy "
                "arrays are read"
            ) from None
