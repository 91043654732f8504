"""The texts of a label set as tensors, and the labels of one step or call among them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from gile_lightning.data.loading.flat import gather_segments, segment_starts, send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.label_residual import NOT_SEEN
from gile_lightning.network.matchers import MatcherLabels


class LabelBatch(NamedTuple):
    """The labels that one training step or one call scores documents against.

    Shapes: distinct ``ids`` [K] in the label set; ``texts`` of K labels; ``residual_ids`` [K] in
    `LabelResidual` and `Ridge`, or `NOT_SEEN`. ``matcher_labels`` has for each matcher what
    `MatcherLabels.select` returns. ``targets`` [B, K] says by 1 and 0 which of the labels the
    documents have, if they are training documents; `Ridge` needs it. ``own`` are the places of the
    labels that have a residual id, if they are known.
    """

    ids: Tensor
    texts: Texts | None  # None where nothing reads them
    residual_ids: Tensor
    matcher_labels: tuple[Any, ...] = ()
    targets: Tensor | None = None
    own: Tensor | None = None

    def sent(self, device: torch.device) -> "LabelBatch":
        """Return the labels with residual ids, and their places, on a device.

        Ids and texts stay on the host, where their sizes are known.
        """
        if self.own is not None:
            return self
        own = (self.residual_ids != NOT_SEEN).nonzero().squeeze(1)
        return self._replace(residual_ids=send(self.residual_ids, device), own=send(own, device))


class EncodedLabels(nn.Module):
    """The encoded texts of a label set.

    Ids and lengths stay on the host, where labels are chosen; vectors, and what matchers need of
    the labels, move with the model that holds them. They are not saved: the label set
    travels with a checkpoint, and is encoded again.

    Args:
        texts: of all labels.
        residual_ids: the labels' ids in `LabelResidual` and `Ridge`; by default no label has one.
        matcher_labels: the label set as each matcher has prepared it.
        frequencies: training documents of each label seen in training.
    """

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
        self.subwords, self.subword_counts = texts.subwords, counts
        self.subword_starts = None if counts is None else segment_starts(counts)
        self.words, self.lengths = texts.words, texts.sentence_lengths
        self.starts = segment_starts(texts.sentence_lengths)
        # by NumPy, so that they are numbers also where a model is tried on the meta device
        self.frequencies = torch.from_numpy(np.array(frequencies, dtype=np.int64))
        self.residual_ids = residual_ids
        self.register_buffer("vectors", texts.vectors, persistent=False)
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
            texts = texts._replace(vectors=self.vectors[send(ids, self.vectors.device)])
        return texts

    def select(self, ids: Tensor, texts: bool = True) -> LabelBatch:
        """Return the distinct labels ``ids`` [K], with their texts or without."""
        ids = ids.to(self.residual_ids.device)
        prepared = tuple(labels.select(ids) for labels in self.matcher_labels)  # type: ignore[operator]
        label_texts = self.texts_of(ids) if texts else None
        return LabelBatch(ids, label_texts, self.residual_ids[ids], prepared)
