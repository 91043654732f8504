"""Shards on their way to disk: documents with word ids that are local to the shard."""

from __future__ import annotations  # array[int] needs Python 3.12 at run time

from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gile_lightning.data.loading.ragged import SUBWORDS
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

SPLITS = ("train", "validation", "test")
SHARD = 32_768  # documents; about 30 MB of word ids
_TOGETHER = 256  # texts that are split into subwords at a time, on all cores


class Document(NamedTuple):
    """A raw document.

    Attributes:
        where: file and line, for messages.
        id: unique in the corpus; later documents with the same id are left out.
        pieces: the text, in the pieces that the corpus tells apart (title, abstract); one that
            is a list is a sentence split into words already.
        labels: label names.
        split: train, validation or test; "" leaves it to the draw.
    """

    where: str
    id: str
    pieces: Sequence[str | list[str]]
    labels: list[str]
    split: str


@dataclass
class Shard:
    """Documents with word ids local to the shard.

    Attributes:
        text: splits documents into subwords too, where it has a pretrained model.
    """

    text: Tokenizer | None = None
    ids: list[str] = field(default_factory=list)
    words: array[int] = field(default_factory=lambda: array("i"))
    sentence_lengths: array[int] = field(default_factory=lambda: array("i"))
    document_lengths: array[int] = field(default_factory=lambda: array("i"))
    labels: array[int] = field(default_factory=lambda: array("i"))
    label_counts: array[int] = field(default_factory=lambda: array("i"))
    word_counts: array[int] = field(default_factory=lambda: array("i"))
    splits: list[str] = field(default_factory=list)
    local: defaultdict[str, int] = field(default_factory=defaultdict)
    subwords: array[int] = field(default_factory=lambda: array("i"))
    subword_counts: array[int] = field(default_factory=lambda: array("i"))
    _unread: list[Sequence[str | list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.local.default_factory = self.local.__len__

    def add(self, document: Document, labels: list[int], text: Tokenizer) -> bool:
        """Add a document; False where its text has no word at all."""
        sentences = text.split(document.pieces)
        if not sentences:
            return False
        local, before = self.local.__getitem__, len(self.words)
        for words in sentences:
            self.words.fromlist(list(map(local, words)))  # faster than extend
            self.sentence_lengths.append(len(words))
        self._add_rest(document, labels, len(self.words) - before, len(sentences))
        return True

    def add_ids(
        self,
        document: Document,
        labels: list[int],
        words: NDArray[np.int32],
        sentence_lengths: NDArray[np.int32],
    ) -> bool:
        """Add a document by the shard's own ids of its words; False where there is no word."""
        if not len(words):
            return False
        self.words.frombytes(words.tobytes())
        self.sentence_lengths.frombytes(sentence_lengths.tobytes())
        self._add_rest(document, labels, len(words), len(sentence_lengths))
        return True

    def _add_rest(self, document: Document, labels: list[int], words: int, sentences: int) -> None:
        self.word_counts.append(words)
        self.document_lengths.append(sentences)
        self.labels.extend(labels)
        self.label_counts.append(len(labels))
        self.ids.append(document.id)
        self.splits.append(document.split)
        if self.text is not None and self.text.pretrained is not None:
            self._unread.append(document.pieces)
            if len(self._unread) == _TOGETHER:
                self._split_subwords()

    def _split_subwords(self) -> None:
        if self.text is None:
            return
        subwords, counts = self.text.subwords(self._unread)
        if subwords is not None and counts is not None:
            self.subwords.frombytes(subwords.tobytes())
            self.subword_counts.frombytes(counts.astype(np.int32).tobytes())
        self._unread.clear()

    def table(self) -> pa.Table:
        """Return the documents as an Arrow table."""
        columns = {
            "id": pa.array(self.ids, pa.string()),
            "words": _lists(self.words, self.word_counts),
            "sentence_lengths": _lists(self.sentence_lengths, self.document_lengths),
            "labels": _lists(self.labels, self.label_counts),
            "split": pa.array(self.splits, pa.string()),
        }
        if self.text is not None and self.text.pretrained is not None:
            self._split_subwords()
            columns[SUBWORDS] = _lists(self.subwords, self.subword_counts)
        return pa.table(columns)


class RawShard(NamedTuple):
    """A finished shard on disk: its table, its word list and the splits of its documents."""

    path: Path
    words: Path
    splits: NDArray[np.int8]

    def table(self) -> pa.Table:
        """Read the documents."""
        with pa.OSFile(str(self.path)) as file:  # read, not mapped: mapped pages count as memory
            return pa.ipc.open_stream(file).read_all()

    def word_list(self) -> list[str]:
        """Read the words that the shard's own ids stand for."""
        return self.words.read_text(encoding="utf-8").split("\n")


def _lists(values: array[int], lengths: array[int]) -> pa.ListArray:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(np.frombuffer(lengths, dtype=np.int32), out=offsets[1:])
    flat = np.frombuffer(values, dtype=np.int32) if values else np.empty(0, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))


def write_raw(shard: Shard, directory: Path, number: int) -> RawShard:
    """Write a full shard and its word list."""
    path = directory / f"raw-{number:05}.arrow"
    table = shard.table()
    write_table(path, table.drop_columns("split"))
    words = path.with_suffix(".words")
    words.write_text("\n".join(shard.local), encoding="utf-8")
    code = {split: i for i, split in enumerate(SPLITS)} | {"": -1}
    return RawShard(path, words, np.array([code[split] for split in shard.splits], dtype=np.int8))


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as an Arrow stream, which Hugging Face `datasets` maps into memory."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


class KnownIds:
    """A set of ids in 8 bytes each: 64-bit hashes, sorted, with the newest in a Python set.

    Twelve million ids take 96 MB, a set of strings over 1 GB; two of them collide with a
    probability of 4 in a million.
    """

    def __init__(self, recent: int = 100_000) -> None:
        self._sorted = np.empty(0, dtype=np.uint64)
        self._recent: set[int] = set()
        self._limit = recent

    def __contains__(self, key: str) -> bool:
        value = _hash(key)
        if value in self._recent:
            return True
        if not len(self._sorted):
            return False
        place = np.searchsorted(self._sorted, np.uint64(value))
        return bool(place < len(self._sorted) and self._sorted[place] == value)

    def add(self, key: str) -> None:
        """Add an id."""
        self._recent.add(_hash(key))
        if len(self._recent) >= self._limit:
            new = np.fromiter(self._recent, dtype=np.uint64, count=len(self._recent))
            self._sorted = np.union1d(self._sorted, new)
            self._recent.clear()


def _hash(key: str) -> int:
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest())
