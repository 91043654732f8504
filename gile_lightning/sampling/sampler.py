"""The contract of label samplers."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from gile_lightning.data.ragged import segment_ids


class LabelSample(NamedTuple):
    """The labels that one training step scores.

    Shapes: ``labels`` [K] distinct label ids; ``targets`` [B, K], 1 where the document has the
    label; ``weights`` [B, K], how often the pair counts in the document's loss (0: not scored).
    """

    labels: Tensor
    targets: Tensor
    weights: Tensor


class LabelSampler(ABC):
    """Chooses the labels that a training step scores, among those seen in training."""

    @abstractmethod
    def __call__(
        self,
        label_ids: Tensor,
        label_counts: Tensor,
        label_count: int,
        generator: torch.Generator,
    ) -> LabelSample:
        """Draw a sample.

        Args:
            label_ids: the documents' labels [P], flat.
            label_counts: labels per document [B].
            label_count: number of labels seen in training; ids below it can be drawn.
            generator: source of randomness, on the device of ``label_ids``.
        """


def scatter_pairs(rows: Tensor, columns: Tensor, documents: int, labels: int) -> Tensor:
    """Count pairs (row, column) in a float matrix [documents, labels]."""
    counts = torch.zeros(documents * labels, device=rows.device)
    counts.scatter_add_(0, rows * labels + columns, torch.ones_like(rows, dtype=counts.dtype))
    return counts.view(documents, labels)


def positives(label_ids: Tensor, label_counts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the pairs (document, label) of the documents' labels, [P] each."""
    return segment_ids(label_counts), label_ids
