"""Uniformly drawn negative labels."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gile_lightning.common.errors import positive
from gile_lightning.data.loading.ragged import segment_starts
from gile_lightning.training.samplers.sampler import (
    LabelSample,
    LabelSampler,
    positives,
    scatter_pairs,
)
from gile_lightning.training.samplers.shared import SharedLabels, check_rate


@dataclass(frozen=True)
class UniformLabels(LabelSampler):
    """A document's labels and k* others, drawn uniformly for each (paper, section 3.4).

    The negatives are drawn with replacement from the labels that the document does not have, so
    a label can count more than once. All documents are scored against all labels drawn in the
    batch in one matrix product; the weights say which pairs count.

    Args:
        rate: k* as a share of the labels seen in training, in (0, 1] (paper: 0.003).
        negatives: k* itself, in place of a rate.
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
    ) -> LabelSample:
        """Draw negatives for every document; see `LabelSampler`."""
        device = label_ids.device
        documents, label_count = len(label_counts), len(frequencies)
        rows, columns = positives(label_ids, label_counts)
        count = self.negatives or round(float(self.rate or 0) * label_count) or 1
        free = label_count - label_counts
        draws = torch.rand(documents, count, generator=generator, device=device)
        order = (draws * free.unsqueeze(-1)).long()
        drawn = order + _labels_before(order, rows, columns, label_counts, label_count)
        negative_rows = torch.arange(documents, device=device).repeat_interleave(count)
        some_free = (free > 0)[negative_rows]  # a document may have every label
        negative_rows, drawn = negative_rows[some_free], drawn.flatten()[some_free]
        labels, position = torch.unique(torch.cat([columns, drawn]), return_inverse=True)
        targets = scatter_pairs(rows, position[: len(rows)], documents, len(labels))
        drawn_counts = scatter_pairs(negative_rows, position[len(rows) :], documents, len(labels))
        return LabelSample(labels, targets, targets + drawn_counts)


def _labels_before(
    order: Tensor, rows: Tensor, columns: Tensor, label_counts: Tensor, label_count: int
) -> Tensor:
    """Count the document's own labels before the r-th of the labels that it lacks, r = order.

    With its own labels sorted, p_0 < p_1 < ..., that is the number of i with p_i - i <= r.
    """
    columns = (rows * label_count + columns).sort().values % label_count
    position = torch.arange(len(rows), device=rows.device) - segment_starts(label_counts)[rows]
    most = int(label_counts.max()) if len(label_counts) else 0
    lacking = columns.new_full((len(label_counts), most), label_count)
    lacking[rows, position] = columns - position
    return torch.searchsorted(lacking, order, right=True)


@dataclass(frozen=True)
class SharedUniformLabels(SharedLabels):
    """The labels of all documents in the batch and one uniform draw, shared by all of them.

    Scores more pairs than a draw per document at the same cost, since projecting a label is dearer
    than scoring it.

    Args:
        rate: number of labels drawn, without replacement, as a share of those seen, in (0, 1].
        correction: for the draw, see `SharedLabels`; π_k is the rate.
    """

    def draw(
        self, count: int, frequencies: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Draw labels uniformly; see `SharedLabels`."""
        total = len(frequencies)
        probability = torch.tensor(count / total, device=generator.device)
        return _distinct(count, total, generator), probability.expand(total)


def _distinct(count: int, total: int, generator: torch.Generator) -> Tensor:
    """Draw ``count`` distinct ids below ``total``, in any order, without a pass over all of them.

    The first distinct ones among draws with replacement are draws without replacement.
    """
    if 4 * count > total:
        return torch.randperm(total, generator=generator, device=generator.device)[:count]
    drawn = torch.empty(0, dtype=torch.long, device=generator.device)
    while True:
        size = (2 * count + 64,)
        more = torch.randint(total, size, generator=generator, device=generator.device)
        drawn = torch.cat([drawn, more])
        ids, inverse = torch.unique(drawn, return_inverse=True)
        if len(ids) >= count:
            place = torch.arange(len(drawn), device=drawn.device)
            first = torch.full_like(ids, len(drawn)).scatter_reduce_(0, inverse, place, "amin")
            chosen: Tensor = ids[first.topk(count, largest=False).indices]
            return chosen
