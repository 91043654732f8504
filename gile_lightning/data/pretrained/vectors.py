"""What a pretrained model computes from texts, kept on disk."""

import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.console import note
from gile_lightning.common.disk import tell_space
from gile_lightning.common.errors import InputError
from gile_lightning.common.files import write
from gile_lightning.common.machine import bfloat16_speedup
from gile_lightning.common.progress import Progress
from gile_lightning.data.pretrained import backends
from gile_lightning.data.pretrained.backends import Backend
from gile_lightning.data.pretrained.keyed_vectors import NO_KEYS, KeyedVectors, Keys, VectorsDtype
from gile_lightning.data.pretrained.model import dimension
from gile_lightning.data.pretrained.passages import PASSAGE, passage_counts

GROUP = 65_536  # texts that are sorted by length at a time; 64 MB of subword ids
CHUNK = 1_024  # texts that are written at once; at most these are encoded twice after a kill
MOST_PASSAGES = 65_536  # of these, unless one text has more: 100 MB of 384 numbers

_REMEDY = "set data.cache_dir, or the environment variable XDG_CACHE_HOME, to another disk"

MANY = 1_000  # texts, a minute or so of a core
_FASTER = (
    "this processor multiplies bfloat16 {:.1f} times as fast as float32: pretrained_backend auto "
    "encodes faster, with nearly the same vectors"
)

_END = np.array([b""], "S16")
_PLACE = struct.Struct("<2I")  # of a passage: `PASSAGE`, and its number in the text

Ids = NDArray[np.int32]


class VectorStore:
    """Vectors by the subword ids of their texts, common to all corpora, splits and settings.

    Those of texts are in one folder, and those of their passages in another, by the hash of the
    text and their place in it. What was encoded before a kill is not encoded again.

    A split of a corpus has a file with the hashes of its texts in order. They give its rows, and
    finding the vectors of a batch is a gather.

    Args:
        name: of the model, as `find_model` takes it.
        cache: the folder of the cache; the vectors lie below it, by the identity of model and
            backend.
        backend: what runs the model.
        dtype: how they are kept; each type has a folder of its own.

    Raises:
        InputError: the files do not belong together.
    """

    def __init__(
        self,
        name: str,
        cache: Path,
        backend: Backend = "torch",
        dtype: VectorsDtype = "float32",
    ) -> None:
        self.name = name
        self.backend: Backend = backend
        own = "" if dtype == "float32" else f"-{dtype}"
        self._folder = cache / "vectors" / (backends.identity(name, backend) + own)
        self._dtype: VectorsDtype = dtype
        self.texts = self._open("")

    @cached_property
    def passages(self) -> KeyedVectors:
        """The vectors of the texts' passages."""
        return self._open(f"-passages-{PASSAGE}")

    def _open(self, kind: str) -> KeyedVectors:
        folder = self._folder.with_name(self._folder.name + kind)
        return KeyedVectors(folder, dimension(self.name), self._dtype)

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
            [B] the row of each text in `texts`; -1 for a text without a subword.

        Raises:
            InputError: the cache cannot be written, or there is no such model.
        """
        return self._filled(texts, total, device, mark, None)[0]

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
        passages: KeyedVectors | None,
    ) -> list[NDArray[np.int64]]:
        """Return the rows of texts, and of their passages, if these are given."""
        stores = [self.texts] if passages is None else [self.texts, passages]
        marks = [store.folder / f"{mark}.texts" for store in stores]
        with ExitStack() as locks:
            for store in stores:
                locks.enter_context(store.locked())
            known = [] if mark is None else [_marked(file) for file in marks]
            found = [
                (store, keys)
                for store, keys in zip(stores, known, strict=False)
                if keys is not None and store.has(keys[keys != b""]).all()
            ]
            if len(found) == len(stores):
                return [store.rows(keys) for store, keys in found]
            of_groups = [[NO_KEYS] * len(stores)]
            before, left = len(self.texts), total or 0
            with Progress("encoding texts", total, "texts") as shown:
                for rows in _groups(texts):
                    left -= len(rows)
                    first = len(self.texts) == before  # with a text that has no vector yet
                    behind = left if first else None
                    of_groups.append(self._fill(rows, device, shown, behind, passages))
            all_keys = [np.concatenate(keys) for keys in zip(*of_groups, strict=True)]
            if mark is not None:
                for file, keys in zip(marks, all_keys, strict=True):
                    content = keys.tobytes()
                    write(file, content + blake2b(content, digest_size=16).digest())
        return [store.rows(keys) for store, keys in zip(stores, all_keys, strict=True)]

    def _fill(
        self,
        rows: list[Ids],
        device: torch.device | str,
        shown: Progress,
        left: int | None,
        passages: KeyedVectors | None,
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
        of_passages = [NO_KEYS] * len(rows) if passages is None else _of_passages(rows, keys)
        different, first = np.unique(keys, return_index=True)
        complete = self.texts.has(different)
        if passages is not None:  # those of a text are written in order: the last tells of all
            last = [of_passages[i][-1] if len(of_passages[i]) else b"" for i in first]
            complete &= passages.has(np.array(last, dtype="S16"))
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
                passages.append(new, found.passages.cpu().numpy())
            unkept = ~self.texts.has(keys[chunk])  # others lacked their passages alone
            self.texts.append(keys[chunk][unkept], vectors.cpu().numpy()[unkept])
            shown.advance(len(chunk))
        self.texts.sort()
        if passages is None:
            return [keys]
        passages.sort()
        ended = (part for some in of_passages for part in (some, _END))
        return [keys, np.concatenate([NO_KEYS, *ended])]

    def _tell(self, texts: int, each: float, device: torch.device | str) -> None:
        """Say what disk space texts take, with so many vectors each, and what would be faster."""
        size = round(texts * each * (self.texts.width + 20))  # with hash and checksum
        tell_space(f"vectors of up to {texts:,} new texts", size, self.texts.folder, _REMEDY)
        on_cpu = self.backend == "torch" and torch.device(device).type == "cpu"
        if texts >= MANY and on_cpu and (speedup := bfloat16_speedup()) >= backends.FASTER:
            note(_FASTER.format(speedup))

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
        if not self.texts.has(keys[keys != b""]).all():
            raise InputError(f"{self.texts.folder}: vectors are missing; start again")
        return self.texts.take(self.texts.rows(keys))


def _marked(file: Path) -> Keys | None:
    """Return the hashes that a mark names; None if there is no whole one."""
    content = file.read_bytes() if file.is_file() else b""
    keys, end = content[:-16], content[-16:]
    if len(keys) % 16 or blake2b(keys, digest_size=16).digest() != end:
        return None
    return np.frombuffer(keys, "S16")


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
