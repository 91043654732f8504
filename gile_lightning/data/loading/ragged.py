"""Ragged batches: flat values and lengths, never padding."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.data.loading.flat import gather_segments, segment_starts

SUBWORDS = "subwords"  # the column of shards that only a pretrained model reads
PRETRAINED = (SUBWORDS, "subword_counts", "vectors", "passages", "passage_counts")
"""The fields of `Texts` that a pretrained model reads or computes."""
COMPUTED = frozenset({"vectors", "passages"})
"""Those that a frozen pretrained model computes once, and the cache keeps."""


class Texts(NamedTuple):
    """Texts as flat word ids: sentences are runs of words, documents are runs of sentences.

    Shapes: ``words`` [N], ``sentence_lengths`` [S] in words, ``document_lengths`` [B] in
    sentences. N is the sum of the sentence lengths and S the sum of the document lengths.
    For a pretrained model: ``subwords`` [M] and ``subword_counts`` [B], or what it computes from
    them: the ``vectors`` [B, d] of the texts, and those of their ``passages`` [P, d], where
    ``passage_counts`` [B] says how many each text has. If ``words`` are rows of a table with the
    vectors of some words, ``ids`` [N] are their ids in the vocabulary.
    """

    words: Tensor
    sentence_lengths: Tensor
    document_lengths: Tensor
    subwords: Tensor | None = None
    subword_counts: Tensor | None = None
    vectors: Tensor | None = None
    passages: Tensor | None = None
    passage_counts: Tensor | None = None
    ids: Tensor | None = None

    @property
    def word_ids(self) -> Tensor:
        """The words' ids in the vocabulary [N]."""
        return self.words if self.ids is None else self.ids

    @classmethod
    def from_flat(
        cls,
        words: NDArray[np.int32],
        sentence_lengths: NDArray[np.int64],
        document_lengths: NDArray[np.int64] | None = None,
        subwords: NDArray[np.int32] | None = None,
        subword_counts: NDArray[np.int64] | None = None,
    ) -> "Texts":
        """Make texts from flat word ids, words per sentence and sentences per document.

        Without the last, every text is one sentence. Flat subword ids and their number per
        document may follow.
        """
        if document_lengths is None:
            document_lengths = np.ones(len(sentence_lengths), dtype=np.int64)
        words_and_lengths = (words, sentence_lengths, document_lengths)
        optional = (subwords, subword_counts)
        return cls(
            *(torch.from_numpy(array) for array in words_and_lengths),
            *(None if array is None else torch.from_numpy(array) for array in optional),
        )

    def to(self, device: torch.device | str) -> "Texts":
        """Return the texts on a device."""
        moved = {k: v.to(device) for k, v in self._asdict().items() if v is not None}
        return Texts(**moved)

    def split(self, size: int) -> "Iterator[Texts]":
        """Yield the documents in pieces of ``size``; the last may be smaller."""
        if len(self.document_lengths) <= size:
            yield self
            return
        documents = torch.split(self.document_lengths, size)
        sentences = _split(self.sentence_lengths, documents)
        pieces: Iterator[Texts]
        pieces = map(Texts, _split(self.words, sentences), sentences, documents)
        if self.subwords is not None and self.subword_counts is not None:
            counts = torch.split(self.subword_counts, size)
            with_subwords = zip(pieces, _split(self.subwords, counts), counts, strict=True)
            pieces = (p._replace(subwords=s, subword_counts=c) for p, s, c in with_subwords)
        if self.vectors is not None:
            with_vectors = zip(pieces, torch.split(self.vectors, size), strict=True)
            pieces = (piece._replace(vectors=vectors) for piece, vectors in with_vectors)
        if self.passages is not None and self.passage_counts is not None:
            counts = torch.split(self.passage_counts, size)
            with_passages = zip(pieces, _split(self.passages, counts), counts, strict=True)
            pieces = (p._replace(passages=v, passage_counts=c) for p, v, c in with_passages)
        yield from pieces


class RaggedBatch(NamedTuple):
    """Documents with their labels.

    Shapes: ``words`` [N], ``sentence_lengths`` [S], ``document_lengths`` [B] as in `Texts`;
    ``label_ids`` [P] holds the labels of document 0, then of document 1, ...; ``label_counts``
    [B] is the number of labels of each; ``rows`` [B], where known, are the documents' places in
    their split. A loss, which is a mean over these documents, is multiplied with ``loss_weight``.
    Then its mean over all processes is the mean over all documents of the step. It is B over the
    mean B of the processes. The fields for a pretrained model are those of `Texts`. ``prepared`` is
    what a system has drawn and looked up for the documents ahead of their training step.
    """

    words: Tensor
    sentence_lengths: Tensor
    document_lengths: Tensor
    label_ids: Tensor
    label_counts: Tensor
    rows: Tensor | None = None
    loss_weight: float = 1.0
    subwords: Tensor | None = None
    subword_counts: Tensor | None = None
    vectors: Tensor | None = None
    passages: Tensor | None = None
    passage_counts: Tensor | None = None
    prepared: Any = None

    @property
    def texts(self) -> Texts:
        """The documents without their labels."""
        words = (self.words, self.sentence_lengths, self.document_lengths)
        return Texts(*words, **{key: getattr(self, key) for key in PRETRAINED})

    def split(self, size: int) -> "Iterator[RaggedBatch]":
        """Yield the documents in pieces of ``size``; the last may be smaller."""
        if len(self.label_counts) <= size:
            yield self
            return
        counts = torch.split(self.label_counts, size)
        label_ids = _split(self.label_ids, counts)
        rows = [None] * len(counts) if self.rows is None else torch.split(self.rows, size)
        for texts, ids, some, of_rows in zip(
            self.texts.split(size), label_ids, counts, rows, strict=True
        ):
            fields = {key: getattr(texts, key) for key in PRETRAINED}
            yield RaggedBatch(*texts[:3], ids, some, of_rows, **fields)


def _split(values: Tensor, lengths: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Cut flat values into pieces, whose segments have these lengths."""
    return torch.split(values, [int(piece.sum()) for piece in lengths])


def batch_from_arrow(table: pa.Table) -> RaggedBatch:
    """Turn gathered rows (columns words, sentence_lengths, labels, ...) into a `RaggedBatch`.

    An Arrow list column is flat values and offsets, which is the layout of the batch: nothing is
    done per document.
    """
    words, _ = _list_column(table, "words")
    sentence_lengths, document_lengths = _list_column(table, "sentence_lengths")
    label_ids, label_counts = _list_column(table, "labels")
    batch = RaggedBatch(
        words, sentence_lengths.long(), document_lengths, label_ids.long(), label_counts
    )
    if SUBWORDS in table.column_names:
        subwords, counts = _list_column(table, SUBWORDS)
        batch = batch._replace(subwords=subwords, subword_counts=counts)
    return batch


def _list_column(table: pa.Table, name: str) -> tuple[Tensor, Tensor]:
    column = table.column(name).combine_chunks()
    offsets = column.offsets.to_numpy()
    values = column.values.to_numpy()[offsets[0] : offsets[-1]]
    # a copy: the gathered values may be a read-only view of the memory-mapped shard
    return torch.from_numpy(values.copy()), torch.from_numpy(np.diff(offsets).astype(np.int64))


def join(texts: Sequence[Texts]) -> Texts:
    """Concatenate texts."""
    words, sentence_lengths, document_lengths = zip(*(own[:3] for own in texts), strict=True)
    return Texts(torch.cat(words), torch.cat(sentence_lengths), torch.cat(document_lengths))


def gather_texts(texts: Texts, ids: Tensor) -> Texts:
    """Return the texts with the numbers ``ids`` [K]."""
    words, lengths, counts = texts[:3]
    sentences = torch.arange(len(lengths), device=lengths.device)
    chosen = gather_segments(sentences, segment_starts(counts), counts, ids)
    return Texts(
        gather_segments(words, segment_starts(lengths), lengths, chosen),
        lengths[chosen],
        counts[ids],
    )
