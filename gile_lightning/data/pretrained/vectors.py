"""The vectors that a pretrained model computes from texts, on disk."""

import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.console import note
from gile_lightning.common.disk import tell_space
from gile_lightning.common.errors import InputError
from gile_lightning.common.files import append, write
from gile_lightning.common.formats import check_format
from gile_lightning.common.machine import bfloat16_speedup
from gile_lightning.common.progress import Progress
from gile_lightning.data.pretrained import backends
from gile_lightning.data.pretrained.backends import Backend
from gile_lightning.data.pretrained.model import dimension
from gile_lightning.data.pretrained.passages import PASSAGE, passage_counts

GROUP = 65_536  # texts that are sorted by length at a time; 64 MB of subword ids
CHUNK = 1_024  # texts that are written at once; at most these are encoded twice after a kill
MOST_PASSAGES = 65_536  # of these, unless one text has more: 100 MB of 384 numbers
VECTORS = {"float32": "vectors.f32", "float16": "vectors.f16"}
SUMS, KEYS = "vectors.crc32", "texts.keys"
FORMAT_FILE = "format"

_REMEDY = "set data.cache_dir, or the environment variable XDG_CACHE_HOME, to another disk"

MANY = 1_000  # texts, a minute or so of a core
_FASTER = (
    "this processor multiplies bfloat16 {:.1f} times as fast as float32: pretrained_backend "
    "torch-bfloat16 encodes faster, with nearly the same vectors"
)
_WORTH = 1.4  # times as fast, to be told

_NONE, _END = np.empty(0, "S16"), np.array([b""], "S16")
_PLACE = struct.Struct("<2I")  # of a passage: `PASSAGE`, and its number in the text

FORMAT = 1
"""The number of the format. Raise it when the files would be misread."""

Ids = NDArray[np.int32]
Keys = NDArray[np.bytes_]

VectorsDtype = Literal["float32", "float16"]
"""How vectors are kept: ``float16`` takes half the disk, and rounds by 0.05 % at most."""


class VectorStore:
    """Vectors by the subword ids of their texts, common to all corpora, splits and settings.

    One file has the vectors, row after row, and is mapped into memory; another one has a 128-bit
    hash of each text. Rows are added, never changed, and a row counts once its hash is there. So
    encoding that was killed goes on where it was. A third file has a CRC-32 of each vector, which
    is compared whenever the vector is read.

    A split of a corpus has a file with the hashes of its texts in order. They give its rows, and
    finding the vectors of a batch is a gather.

    Passages of texts are in a store of their own (`passages`), by the hash of their text and their
    place in it.

    Args:
        name: of the model, as `find_model` takes it.
        cache: the folder of the cache; the vectors lie below it, by the identity of model and
            backend.
        backend: what runs the model.
        dtype: how they are kept; each type has a folder of its own.
        kind: ends the name of the folder.

    Raises:
        InputError: the files do not belong together.
    """

    def __init__(
        self,
        name: str,
        cache: Path,
        backend: Backend = "torch",
        dtype: VectorsDtype = "float32",
        kind: str = "",
    ) -> None:
        self.name = name
        self.backend: Backend = backend
        self.dtype = np.dtype(dtype)
        own = ("" if dtype == "float32" else f"-{dtype}") + kind
        self.folder = cache / "vectors" / (backends.identity(name, backend) + own)
        self._passages = partial(VectorStore, name, cache, backend, dtype, f"-passages-{PASSAGE}")
        self.vectors = self.folder / VECTORS[dtype]
        self.dimension = dimension(name)
        self._open()

    def _open(self) -> None:
        """Map the vectors into memory and sort the hashes."""
        number = self.folder / FORMAT_FILE
        found = number.read_text() if number.exists() else "1"  # of a version that wrote none
        remedy = f"delete the folder {self.folder}, and the texts will be encoded anew"
        check_format(number, int(found) if found.isdecimal() else None, FORMAT, remedy)
        keys = self.folder / KEYS
        own = np.fromfile(keys, "S16", _size(keys) // 16) if keys.exists() else np.empty(0, "S16")
        if _size(self.vectors) < len(own) * self._width():
            raise InputError(
                f"{self.vectors}: shorter than {keys.name} says; delete both, and the texts will "
                "be encoded anew"
            )
        self._order = own.argsort()
        self._keys = own[self._order]
        self._unsorted: list[Keys] = []
        self._map()

    def _map(self) -> None:
        shape = (len(self._keys), self.dimension)
        self._vectors: NDArray[np.floating] = np.zeros(shape, self.dtype)
        self._sums: NDArray[np.uint32] | None = None
        if len(self._keys):
            self._vectors = np.memmap(self.vectors, self.dtype, "r", 0, shape)
            if self._has_sums():
                self._sums = np.memmap(self.folder / SUMS, np.uint32, "r", 0, shape[:1])

    def _width(self) -> int:
        """Return the bytes of a vector."""
        return self.dimension * self.dtype.itemsize

    def _has_sums(self) -> bool:
        """Whether all rows have checksums; those of an earlier version get them in `fill`."""
        return _size(self.folder / SUMS) >= len(self._keys) * 4

    def __len__(self) -> int:
        return len(self._keys)

    def fill(
        self,
        texts: Iterable[tuple[Ids, NDArray[np.int64]]],
        total: int | None = None,
        device: torch.device | str = "cpu",
        mark: str | None = None,
    ) -> NDArray[np.int64]:
        """Encode the texts that have no vectors yet; one process at a time.

        Args:
            texts: flat subword ids [N] and their counts [B], batch after batch.
            total: number of texts, if known, for the progress bar.
            device: where to compute.
            mark: a name for these texts, which are not read when it comes again.

        Returns:
            [B] the row of each text, for `take`; -1 for a text without a subword.

        Raises:
            InputError: the cache cannot be written, or there is no such model.
        """
        return self._filled(texts, total, device, mark, None)[0]

    @cached_property
    def passages(self) -> "VectorStore":
        """The store of the texts' passages."""
        return self._passages()

    def fill_with_passages(
        self,
        texts: Iterable[tuple[Ids, NDArray[np.int64]]],
        total: int | None = None,
        device: torch.device | str = "cpu",
        mark: str | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Do what `fill` does, with vectors of passages beside those of texts.

        Returns:
            The rows of the texts [B]; and those of their passages in `passages`, with -1 after the
            last one of each text.
        """
        of_texts, of_passages = self._filled(texts, total, device, mark, self.passages)
        return of_texts, of_passages

    def _filled(
        self,
        texts: Iterable[tuple[Ids, NDArray[np.int64]]],
        total: int | None,
        device: torch.device | str,
        mark: str | None,
        passages: "VectorStore | None",
    ) -> list[NDArray[np.int64]]:
        """Return the rows of texts in this store, and of passages in another, if there is one."""
        stores = [self] if passages is None else [self, passages]
        marks = [store.folder / f"{mark}.texts" for store in stores]
        with ExitStack() as locks:
            for store in stores:
                locks.enter_context(store._locked())
            if mark is not None and all(file.exists() for file in marks):
                known = [np.fromfile(file, "S16") for file in marks]
                pairs = list(zip(stores, known, strict=True))
                if all(store._has(keys[keys != b""]).all() for store, keys in pairs):
                    return [store._rows(keys) for store, keys in pairs]
            of_groups = [[_NONE] * len(stores)]
            before, left = len(self), total or 0
            with Progress("encoding texts", total, "texts") as shown:
                for rows in _groups(texts):
                    left -= len(rows)
                    first = len(self) == before  # with a text that has no vector yet
                    behind = left if first else None
                    of_groups.append(self._fill(rows, device, shown, behind, passages))
            all_keys = [np.concatenate(keys) for keys in zip(*of_groups, strict=True)]
            for store, file, keys in zip(stores, marks, all_keys, strict=True):
                store._map()
                if mark is not None:
                    write(file, keys.tobytes())
        return [store._rows(keys) for store, keys in zip(stores, all_keys, strict=True)]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Open the files once more while no other process writes; make what is missing."""
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
            if not self._has_sums():
                write(self.folder / SUMS, _sums(self._vectors).tobytes())
            self._take_over()
            yield

    def _fill(
        self,
        rows: list[Ids],
        device: torch.device | str,
        shown: Progress,
        left: int | None,
        passages: "VectorStore | None",
    ) -> list[Keys]:
        """Encode what is new among some texts, short ones first.

        Args:
            rows: subword ids of the texts.
            device: where to compute.
            shown: the progress.
            left: if given, how many texts come behind these: then the disk space is said.
            passages: the store of passages, if they have vectors too.

        Returns:
            The hashes of the texts; and of their passages, if wanted, with an empty one behind
            those of each text.
        """
        keys = np.array([_key(row) if len(row) else b"" for row in rows], dtype="S16")
        of_passages = [_NONE] * len(rows) if passages is None else _of_passages(rows, keys)
        different, first = np.unique(keys, return_index=True)
        complete = self._has(different)
        if passages is not None:  # those of a text are written in order: the last tells of all
            last = [of_passages[i][-1] if len(of_passages[i]) else b"" for i in first]
            complete &= passages._has(np.array(last, dtype="S16"))
        missing = first[~complete & (different != b"")]
        missing = missing[np.argsort([len(rows[i]) for i in missing], kind="stable")]
        if len(missing) and left is not None:
            each = 1 + sum(len(of_passages[i]) for i in missing) / len(missing)
            self._tell(len(missing) + max(0, left), each, device)
        shown.advance(len(rows) - len(missing))
        for chunk in _chunks(missing, [len(of_passages[i]) for i in missing]):
            flat, counts = (part.to(device) for part in _flat([rows[i] for i in chunk]))
            if passages is None:
                vectors = backends.encode(self.name, flat, counts, self.backend)
            else:
                found = backends.encode_with_passages(self.name, flat, counts, self.backend)
                vectors = found.vectors
                new = np.concatenate([of_passages[i] for i in chunk])
                passages._append(new, found.passages.cpu().numpy())
            unkept = ~self._has(keys[chunk])  # others lacked their passages alone
            self._append(keys[chunk][unkept], vectors.cpu().numpy()[unkept])
            shown.advance(len(chunk))
        self._sort()
        if passages is None:
            return [keys]
        passages._sort()
        ended = (part for some in of_passages for part in (some, _END))
        return [keys, np.concatenate([_NONE, *ended])]

    def _tell(self, texts: int, each: float, device: torch.device | str) -> None:
        """Say what disk space texts take, with so many vectors each, and what would be faster."""
        size = round(texts * each * (self._width() + 20))  # with hash and checksum
        tell_space(f"vectors of up to {texts:,} new texts", size, self.folder, _REMEDY)
        on_cpu = self.backend == "torch" and torch.device(device).type == "cpu"
        if texts >= MANY and on_cpu and (speedup := bfloat16_speedup()) >= _WORTH:
            note(_FASTER.format(speedup))

    def _append(self, keys: Keys, vectors: NDArray[Any]) -> None:
        """Write vectors, their checksums, and then their hashes, behind the rows that are there.

        Args:
            keys: the hashes, which are found after the next `_sort`.
            vectors: [n, d].
        """
        row = len(self._keys) + sum(map(len, self._unsorted))
        vectors = np.ascontiguousarray(vectors, self.dtype)
        append(self.vectors, row * self._width(), vectors.tobytes())
        append(self.folder / SUMS, row * 4, _sums(vectors).tobytes())
        append(self.folder / KEYS, row * 16, keys.tobytes())
        self._unsorted.append(keys)

    def _sort(self) -> None:
        """Sort the hashes of new rows in."""
        keys = np.concatenate([_NONE, *self._unsorted])
        self._unsorted = []
        order = keys.argsort()
        at = self._keys.searchsorted(keys[order])
        self._order = np.insert(self._order, at, len(self._keys) + order)
        self._keys = np.insert(self._keys, at, keys[order])

    def _take_over(self) -> None:
        """Append the files that older versions wrote, one for every thousand texts."""
        files = sorted(self.folder.glob("[0-9]*.npy"))
        if files:
            note(f"{self.folder}: {len(files):,} files become one; this is done once")
        for file in files:
            try:
                content = np.load(file)
                keys, vectors = content["key"], content["vector"]
            except (EOFError, IndexError, OSError, ValueError) as error:
                raise InputError(
                    f"{file}: not readable ({error}); if it is broken, delete it, and its texts "
                    "will be encoded anew"
                ) from error
            new = ~self._has(keys)
            self._append(keys[new], vectors[new])
            self._sort()
            file.unlink()
        for left in (*self.folder.glob("*.done"), *self.folder.glob(".*.npy.*")):
            left.unlink()
        self._map()

    def _has(self, keys: Keys) -> NDArray[np.bool_]:
        if not len(self._keys):
            return np.zeros(len(keys), dtype=bool)
        found: NDArray[np.bool_] = self._keys[self._at(keys)] == keys
        return found

    def _at(self, keys: Keys) -> NDArray[np.int64]:
        return np.minimum(self._keys.searchsorted(keys), len(self._keys) - 1)

    def _rows(self, keys: Keys) -> NDArray[np.int64]:
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
        if self._sums is not None and (_sums(vectors) != self._sums[rows]).any():
            raise InputError(
                f"{self.vectors}: damaged, not what was written there; delete the folder "
                f"{self.folder}, and the texts will be encoded anew"
            )
        vectors[rows < 0] = 0
        return torch.from_numpy(vectors.astype(np.float32, copy=False))

    def find(self, subwords: Ids, counts: NDArray[np.int64]) -> Tensor:
        """Return the vectors [B, d] of texts; zeros for a text without a subword.

        Args:
            subwords: flat ids [N].
            counts: of the texts [B].

        Raises:
            InputError: a vector is missing, since `fill` has not seen the text.
        """
        texts = np.split(subwords, counts.cumsum()[:-1]) if len(counts) else []
        keys = np.array([_key(text) if len(text) else b"" for text in texts], dtype="S16")
        if not self._has(keys[keys != b""]).all():
            raise InputError(f"{self.folder}: vectors are missing; start again")
        return self.take(self._rows(keys))


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _sums(vectors: NDArray[np.floating]) -> NDArray[np.uint32]:
    """Return the CRC-32 of each vector [B]."""
    return np.fromiter(map(zlib.crc32, vectors), np.uint32, len(vectors))


def _key(row: Ids) -> bytes:
    return blake2b(row.tobytes(), digest_size=16).digest()


def _of_passages(rows: list[Ids], keys: Keys) -> list[Keys]:
    """Return the hashes of the passages of each text, which follow from its own."""
    counts = passage_counts(*_flat(rows)).tolist() if rows else []
    found = []
    for key, number in zip(keys.tolist(), counts, strict=True):
        names = (key + _PLACE.pack(PASSAGE, place) for place in range(number))
        own = [blake2b(name, digest_size=16).digest() for name in names]
        found.append(np.array(own, dtype="S16"))
    return found


def _chunks(texts: NDArray[np.int64], passages: list[int]) -> Iterator[NDArray[np.int64]]:
    """Cut texts, short ones first, into those that are encoded at once."""
    start = vectors = 0
    for stop, more in enumerate(passages):
        if stop - start == CHUNK or (stop > start and vectors + more > MOST_PASSAGES):
            yield texts[start:stop]
            start, vectors = stop, 0
        vectors += more
    if start < len(texts):
        yield texts[start:]


def _flat(rows: list[Ids]) -> tuple[Tensor, Tensor]:
    """Return the ids of texts one after the other, and their counts."""
    counts = torch.tensor([len(row) for row in rows])
    return torch.from_numpy(np.concatenate(rows)), counts


def _groups(texts: Iterable[tuple[Ids, NDArray[np.int64]]]) -> Iterator[list[Ids]]:
    group: list[Ids] = []
    for subwords, counts in texts:
        group += np.split(subwords, counts.cumsum()[:-1]) if len(counts) else []
        if len(group) >= GROUP:
            yield group
            group = []
    yield group
