"""The texts of a label set as tensors, and the labels of one step or call among them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from gile_lightning.data.loading.ragged import Texts, gather_segments, segment_starts
from gile_lightning.network.label_residual import NOT_SEEN
from gile_lightning.network.matchers import MatcherLabels


class LabelBatch(NamedTuple):
    """The labels that one training step or one call scores documents against.

    Shapes: distinct ``ids`` [K] in the label set; ``texts`` of K labels; ``residual_ids`` [K] in
    `LabelResidual` and `Ridge`, or `NOT_SEEN`. ``matcher_labels`` has for each matcher what
    `MatcherLabels.select` returns. ``targets`` [B, K] says by 1 and 0 which of the labels the
    documents have, if they are training documents; `Ridge` needs it.
    """

    ids: Tensor
    texts: Texts | None  # None where nothing reads them
    residual_ids: Tensor
    matcher_labels: tuple[Any, ...] = ()
    targets: Tensor | None = None


class EncodedLabels(nn.Module):
    """The encoded texts of a label set, on the device of the model that holds them.

    They are not saved: the label set travels with a checkpoint, and is encoded again.

    Args:
        texts: of all labels.
        residual_ids: the labels' ids in `LabelResidual` and `Ridge`; by default no label has one.
        matcher_labels: the label set as each matcher has prepared it.
        frequencies: training documents of each label seen in training.
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
        matcher_labels: Sequence[MatcherLabels] = (),
        frequencies: Sequence[int] = (),
    ) -> None:
        super().__init__()
        counts = texts.subword_counts
        if residual_ids is None:
            residual_ids = torch.full_like(texts.sentence_lengths, NOT_SEEN)
        buffers = {
            "subwords": texts.subwords,
            "subword_counts": counts,
            "subword_starts": None if counts is None else segment_starts(counts),
            "vectors": texts.vectors,
            "words": texts.words,
            "lengths": texts.sentence_lengths,
            "starts": segment_starts(texts.sentence_lengths),
            # by NumPy, so that they are numbers also where a model is tried on the meta device
            "frequencies": torch.from_numpy(np.array(frequencies, dtype=np.int64)),
            "residual_ids": residual_ids,
        }
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer, persistent=False)
        self.matcher_labels = nn.ModuleList(matcher_labels)

    def __len__(self) -> int:
        return len(self.lengths)

    def texts_of(self, ids: Tensor) -> Texts:
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
        """Return the distinct labels ``ids`` [K], with their texts or without."""
        prepared = tuple(labels.select(ids) for labels in self.matcher_labels)  # type: ignore[operator]
        label_texts = self.texts_of(ids) if texts else None
        return LabelBatch(ids, label_texts, self.residual_ids[ids], prepared)
