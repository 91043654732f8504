"""Negatives drawn uniformly for each document."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gile_lightning.common.errors import positive
from gile_lightning.data.loading.flat import distinct, segment_starts
from gile_lightning.training.samplers.sampler import (
    LabelSample,
    LabelSampler,
    positives,
    scatter_pairs,
)
from gile_lightning.training.samplers.shared import check_rate

_MANY = 2**17  # labels


@dataclass(frozen=True)
class UniformLabels(LabelSampler):
    """The labels of a document and k* negatives, drawn for each document (paper, section 3.4).

    The negatives are drawn uniformly, with replacement, from the labels that the document lacks, so
    a label can count more than once. One matrix product scores all documents of the batch against
    all labels drawn; the weights tell which pairs count.

    Args:
        rate: k* as a share of the labels seen in training, in (0, 1] (paper: 0.003).
        negatives: k* itself, instead of a rate.
    """

    rate: float | None = 0.003
    negatives: int | None = None

    def __post_init__(self) -> None:
        check_rate(self.rate if self.negatives is None else 1.0)
        if self.negatives is not None:
            positive(negatives=self.negatives)

    def __call__(
        self,
        label_ids: Tensor,
        label_counts: Tensor,
        frequencies: Tensor,
        generator: torch.Generator,
        device: torch.device | None = None,
    ) -> LabelSample:
        """Draw negatives for every document; see `LabelSampler`."""
        host = label_ids.device
        documents, label_count = len(label_counts), len(frequencies)
        rows, columns = positives(label_ids, label_counts)
        count = self._count(label_count)
        free = label_count - label_counts
        # float32 has 16 million numbers: with 130,000 labels some would come 1 % more often
        # training in 16 bits has another default type, of 256 such numbers
        dtype = torch.double if label_count > _MANY else torch.float
        draws = torch.rand(documents, count, generator=generator, device=host, dtype=dtype)
        order = (draws * free.unsqueeze(-1)).long()
        drawn = order + _labels_before(order, rows, columns, label_counts, label_count)
        negative_rows = torch.arange(documents, device=host)
        if not (free > 0).all():  # a document has every label
            negative_rows, drawn = negative_rows[free > 0], drawn[free > 0]
        negative_rows, drawn = negative_rows.repeat_interleave(count), drawn.flatten()
        labels, position = distinct(torch.cat([columns, drawn]), label_count)
        size = documents, len(labels)
        targets = scatter_pairs(rows, position[: len(rows)], *size, device)
        drawn_counts = scatter_pairs(negative_rows, position[len(rows) :], *size, device)
        return LabelSample(labels, targets, targets + drawn_counts)

    def negative_rates(self, frequencies: Tensor, labels_per_document: float) -> Tensor:
        """Return k* / (K - |P|), which is exact for documents with the mean number |P| of labels.

        See `LabelSampler`.
        """
        free = max(1.0, len(frequencies) - labels_per_document)
        return torch.full((len(frequencies),), self._count(len(frequencies)) / free)

    def _count(self, labels: int) -> int:
        return self.negatives or round(float(self.rate or 0) * labels) or 1


def _labels_before(
    order: Tensor, rows: Tensor, columns: Tensor, label_counts: Tensor, label_count: int
) -> Tensor:
    """Count a document's labels before the r-th label that it lacks, for r in ``order``.

    With the document's labels sorted, p_0 < p_1 < ..., it is the number of i with p_i - i <= r.
    """
    columns = (rows * label_count + columns).sort().values % label_count
    position = torch.arange(len(rows), device=rows.device) - segment_starts(label_counts)[rows]
    most = int(label_counts.max()) if len(label_counts) else 0
    lacking = columns.new_full((len(label_counts), most), label_count)
    lacking[rows, position] = columns - position
    return torch.searchsorted(lacking, order, right=True)
