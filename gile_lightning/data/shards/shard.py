"""A shard on its way to disk."""

from __future__ import annotations  # array[int] needs Python 3.12 at run time

from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gile_lightning.data.document import Document
from gile_lightning.data.loading.ragged import SUBWORDS
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

SHARD = 32_768  # documents; about 30 MB of word ids
_TOGETHER = 256  # texts that are split into subwords at a time, on all cores


@dataclass
class Shard:
    """Documents with word ids that are local to the shard.

    Attributes:
        tokenizer: splits documents into subwords too, if it has a pretrained model.
        local: the shard's own id of every word.
    """

    tokenizer: Tokenizer | None = None
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

    def add(self, document: Document, labels: list[int], tokenizer: Tokenizer) -> bool:
        """Add a document; return False if its text has no word at all."""
        sentences = tokenizer.split(document.pieces)
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
        """Add a document by the shard's own ids of its words; return False if there is none."""
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
        if self.tokenizer is not None and self.tokenizer.pretrained is not None:
            self._unread.append(document.pieces)
            if len(self._unread) == _TOGETHER:
                self._split_subwords(self.tokenizer)

    def _split_subwords(self, tokenizer: Tokenizer) -> None:
        subwords, counts = tokenizer.subwords(self._unread)
        if subwords is not None and counts is not None:
            self.subwords.frombytes(subwords.tobytes())
            self.subword_counts.frombytes(counts.astype(np.int32).tobytes())
        self._unread.clear()

    def table(self) -> pa.Table:
        """Return the documents as an Arrow table, without their splits."""
        columns = {
            "id": pa.array(self.ids, pa.string()),
            "words": _lists(self.words, self.word_counts),
            "sentence_lengths": _lists(self.sentence_lengths, self.document_lengths),
            "labels": _lists(self.labels, self.label_counts),
        }
        if self.tokenizer is not None and self.tokenizer.pretrained is not None:
            self._split_subwords(self.tokenizer)
            columns[SUBWORDS] = _lists(self.subwords, self.subword_counts)
        return pa.table(columns)


def _lists(values: array[int], lengths: array[int]) -> pa.ListArray:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(np.frombuffer(lengths, dtype=np.int32), out=offsets[1:])
    flat = np.frombuffer(values, dtype=np.int32) if values else np.empty(0, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))
