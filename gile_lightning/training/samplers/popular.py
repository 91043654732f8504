"""Labels drawn by popularity: frequent labels more often."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.training.samplers.shared import SharedLabels


@dataclass(frozen=True)
class PopularLabels(SharedLabels):
    """The labels of all documents of a batch, and one draw by smoothed popularity for all of them.

    Label k is among the M labels drawn, without replacement, with the probability
    π_k = min(1, c f_k^a). f_k is its number of training documents, and c makes the probabilities
    sum to M. The power of 0.75 is that of Mikolov et al. (2013). The time of a draw is proportional
    to the number of labels.

    Args:
        rate: M as a share of the labels seen in training, in (0, 1].
        correction: see `SharedLabels`.
        most: the largest M, however many labels there are; None for any.
        exponent: a in [0, 1]; 0 is uniform, 1 follows the frequencies.
    """

    exponent: float = 0.75

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.exponent <= 1:
            raise InputError(
                f"exponent is {self.exponent}: a number from 0 (uniform) to 1 (popularity)"
            )

    def draw(
        self, count: int, frequencies: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Draw labels by popularity; see `SharedLabels`."""
        probabilities = inclusion(frequencies.double().pow(self.exponent), count)
        return draw_systematic(probabilities, count, generator), probabilities


def inclusion(weights: Tensor, count: int) -> Tensor:
    """Return the probabilities of being drawn min(1, c w_k), with c so that they sum to ``count``.

    Args:
        weights: w [K], above 0.
        count: of labels to draw, at most K.

    Returns:
        The probabilities [K].
    """
    certain = torch.zeros_like(weights, dtype=torch.bool)
    probabilities = torch.ones_like(weights)
    # the rest is spread over the other labels, which may make more of them certain
    while count < len(weights):
        others = weights.masked_fill(certain, 0)
        probabilities = others * ((count - certain.sum()) / others.sum())
        probabilities.masked_fill_(certain, 1)
        if not (over := probabilities > 1).any():
            break
        certain |= over
    return probabilities


def draw_systematic(probabilities: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw ``count`` distinct ids, each with exactly its probability (Madow, 1949).

    The labels lie on a line in random order, each as long as its probability. Drawn are the labels
    at steps of 1 from a random start. With equal probabilities all subsets are equally likely.

    Args:
        probabilities: [K] float64, at most 1, with the sum ``count``.
        count: of ids.
        generator: source of randomness.
    """
    device = probabilities.device
    order = torch.randperm(len(probabilities), generator=generator, device=device)
    ends = probabilities[order].cumsum(0)
    start = torch.rand(1, dtype=torch.double, generator=generator, device=device)
    places = torch.searchsorted(ends, start + torch.arange(count, device=device), right=True)
    return order[places.clamp(max=len(order) - 1)]  # the sum may be rounded down
