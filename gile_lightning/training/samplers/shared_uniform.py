"""Labels drawn uniformly for a whole batch."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gile_lightning.training.samplers.shared import SharedLabels


@dataclass(frozen=True)
class SharedUniformLabels(SharedLabels):
    """The labels of all documents of a batch, and one uniform draw for all of them.

    At the same cost it scores more pairs than a draw per document, since projecting a label takes
    longer than scoring it.

    Args:
        rate: the share of the seen labels that is drawn, without replacement, in (0, 1].
        correction: see `SharedLabels`; π_k is the rate, or ``most`` / K.
        most: the largest number of labels that are drawn; see `SharedLabels`.
    """

    def draw(
        self, count: int, frequencies: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Draw labels uniformly; see `SharedLabels`."""
        total = len(frequencies)
        probability = torch.tensor(count / total, device=generator.device)
        return _distinct(count, total, generator), probability.expand(total)


def _distinct(count: int, total: int, generator: torch.Generator) -> Tensor:
    """Draw ``count`` distinct ids below ``total``, in any order, without listing all ids.

    The first distinct ids among draws with replacement are draws without replacement.
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
