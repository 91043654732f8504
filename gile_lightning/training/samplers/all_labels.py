"""All labels in every step."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gile_lightning.training.samplers.sampler import (
    LabelSample,
    LabelSampler,
    positives,
    scatter_pairs,
)


@dataclass(frozen=True)
class AllLabels(LabelSampler):
    """Every step scores every label seen in training (paper, Eq. 15)."""

    def __call__(
        self,
        label_ids: Tensor,
        label_counts: Tensor,
        frequencies: Tensor,
        generator: torch.Generator,
        device: torch.device | None = None,
    ) -> LabelSample:
        """Return all labels, each pair with the weight 1."""
        labels = torch.arange(len(frequencies), device=label_ids.device)
        pairs = positives(label_ids, label_counts)
        targets = scatter_pairs(*pairs, len(label_counts), len(labels), device)
        return LabelSample(labels, targets, torch.ones_like(targets))

    def negative_rates(self, frequencies: Tensor, labels_per_document: float) -> Tensor:
        """Return ones; see `LabelSampler`."""
        return torch.ones(len(frequencies))
