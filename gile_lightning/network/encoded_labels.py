"""The texts of a label set, and what scoring needs to know of some of its labels."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from gile_lightning.data.loading.ragged import Texts, gather_segments, segment_starts
from gile_lightning.network.label_residual import NOT_SEEN
from gile_lightning.network.matchers import MatcherLabels


class LabelBatch(NamedTuple):
    """Labels to score documents against.

    Shapes: distinct ``ids`` [K] in their label set; ``texts`` of K labels; ``residual_ids`` [K] in
    `LabelResidual`, or `NOT_SEEN`; ``indexes`` has what each matcher needs of them.
    """

    ids: Tensor
    texts: Texts | None  # None where nothing reads them
    residual_ids: Tensor
    indexes: tuple[Any, ...] = ()


class EncodedLabels(nn.Module):
    """The encoded texts of a label set, on the device of the model that holds them.

    Not part of the state: they are made from the label set that travels with a checkpoint.

    Args:
        texts: of K labels.
        residual_ids: their ids in `LabelResidual` [K]; by default none has one.
        indexes: what each matcher has worked out of them.
        frequencies: training documents per label, of those seen in training.
    """

    words: Tensor
    lengths: Tensor
    starts: Tensor
    frequencies: Tensor
    residual_ids: Tensor
    subwords: Tensor | None
    subword_counts: Tensor | None
    subword_starts: Tensor | None
    vectors: Tensor | None

    def __init__(
        self,
        texts: Texts,
        residual_ids: Tensor | None = None,
        indexes: Sequence[MatcherLabels] = (),
        frequencies: Sequence[int] = (),
    ) -> None:
        super().__init__()
        counts = texts.subword_counts
        subword_starts = None if counts is None else segment_starts(counts)
        self.register_buffer("subwords", texts.subwords, persistent=False)
        self.register_buffer("subword_counts", counts, persistent=False)
        self.register_buffer("subword_starts", subword_starts, persistent=False)
        self.register_buffer("vectors", texts.vectors, persistent=False)
        self.register_buffer("words", texts.words, persistent=False)
        self.register_buffer("lengths", texts.sentence_lengths, persistent=False)
        starts = segment_starts(texts.sentence_lengths)
        self.register_buffer("starts", starts, persistent=False)
        # like the texts, which are numbers also where a model is tried without memory
        seen = torch.from_numpy(np.array(frequencies, dtype=np.int64))
        self.register_buffer("frequencies", seen, persistent=False)
        if residual_ids is None:
            residual_ids = torch.full_like(texts.sentence_lengths, NOT_SEEN)
        self.register_buffer("residual_ids", residual_ids, persistent=False)
        self.indexes = nn.ModuleList(indexes)

    def __len__(self) -> int:
        return len(self.lengths)

    def all(self) -> Texts:
        """Return the texts of all labels."""
        return Texts(self.words, self.lengths, torch.ones_like(self.lengths))

    def gather(self, ids: Tensor) -> Texts:
        """Return the texts of the labels ``ids`` [K]."""
        words = gather_segments(self.words, self.starts, self.lengths, ids)
        texts = Texts(words, self.lengths[ids], torch.ones_like(ids))
        counts, starts = self.subword_counts, self.subword_starts
        if self.subwords is not None and counts is not None and starts is not None:
            subwords = gather_segments(self.subwords, starts, counts, ids)
            texts = texts._replace(subwords=subwords, subword_counts=counts[ids])
        if self.vectors is not None:
            texts = texts._replace(vectors=self.vectors[ids])
        return texts

    def select(self, ids: Tensor, texts: bool = True) -> LabelBatch:
        """Return what is known of the distinct labels ``ids`` [K], with their texts or without."""
        indexes = tuple(index.gather(ids) for index in self.indexes)  # type: ignore[operator]
        return LabelBatch(ids, self.gather(ids) if texts else None, self.residual_ids[ids], indexes)
