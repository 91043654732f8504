"""Metrics of the k best labels of a document."""

from abc import ABC

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import send
from gile_lightning.metrics.document_metric import DocumentMetric
from gile_lightning.metrics.ranks import Ranks


class AtCutoff(DocumentMetric, ABC):
    """A metric of the k best labels. On ties the lower column comes first.

    Args:
        k: at least 1.
        column: as in `DocumentMetric`.
        validated: as in `DocumentMetric`.

    Raises:
        ValueError: k is below 1.
    """

    kind: tuple[str, str]  # the beginnings of name and heading

    def __init__(self, k: int, column: bool = True, validated: bool = True) -> None:
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        self.k = k
        self.name = f"{self.kind[0]}_at_{k}"
        self.heading = f"{self.kind[1]}@{k}"
        self.column = column
        self.validated = validated


class PrecisionAt(AtCutoff):
    """Share of positives among the k best labels.

    The divisor is k even where there are fewer than k labels.
    """

    kind = ("precision", "P")

    def __call__(self, ranks: Ranks) -> Tensor:
        """Return fractions, [B] float64."""
        return ranks.or_nan(ranks.total(ranks.within(self.k)) / self.k)


class RecallAt(AtCutoff):
    """Share of the positives that are among the k best labels."""

    kind = ("recall", "R")

    def __call__(self, ranks: Ranks) -> Tensor:
        """Return fractions, [B] float64."""
        return ranks.total(ranks.within(self.k)) / ranks.label_counts


class NdcgAt(AtCutoff):
    """Normalized discounted cumulative gain of the k best labels.

    A positive at the 0-based place i gains 1 / log2(i + 2), a negative 0. The sum is divided by the
    highest possible one, that of min(k, positives) positives in the first places: nDCG of Järvelin
    & Kekäläinen (2002, TOIS) with binary gains.
    """

    kind = ("ndcg", "nDCG")

    def __call__(self, ranks: Ranks) -> Tensor:
        """Return fractions, [B] float64."""
        gains = torch.where(ranks.within(self.k), _discount(ranks.position), 0)
        # on the host: CUDA adds up fractions in an order that changes from run to run
        highest = _discount(torch.arange(self.k)).cumsum(0)
        ideal = send(torch.cat([highest.new_zeros(1), highest]), gains.device)
        return ranks.or_nan(ranks.total(gains) / ideal[ranks.label_counts.clamp(1, self.k)])


def _discount(position: Tensor) -> Tensor:
    return 1 / (position.double() + 2).log2()
