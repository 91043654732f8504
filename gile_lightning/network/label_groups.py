"""What single labels have learned, after label changes."""

from collections.abc import Sequence

import torch
from torch import Tensor


class LabelGroups:
    """The old labels that each new one comes from, and means and sums over them.

    Args:
        groups: the ids of the old labels of each of N new ones, one at least.
        frequencies: training documents of each old label.
    """

    def __init__(self, groups: Sequence[Sequence[int]], frequencies: Sequence[int]) -> None:
        self._ids = torch.tensor([i for own in groups for i in own], dtype=torch.long)
        sizes = torch.tensor([len(own) for own in groups], dtype=torch.long)
        self._rows = torch.repeat_interleave(torch.arange(len(groups)), sizes)
        self._counts = torch.tensor(frequencies, dtype=torch.float64)
        self._totals = self.sum(self._counts)

    def sum(self, values: Tensor) -> Tensor:
        """Return the sums [N, ...] of values of the old labels [L, ...]."""
        found = values.new_zeros(int(self._rows[-1]) + 1, *values.shape[1:])
        return found.index_add_(0, self._rows, values[self._ids])

    def mean(self, values: Tensor) -> Tensor:
        """Return the means [N, ...] of values of the old labels [L, ...], weighted by documents."""
        shape = (-1, *[1] * (values.dim() - 1))
        weighted = self.sum(values.double() * self._counts[: len(values)].view(shape))
        return (weighted / self._totals.view(shape)).to(values.dtype)

    def bias(self, values: Tensor) -> Tensor:
        """Return biases [N] of those of the old labels [L]; they follow the log of documents."""
        log = self._counts[: len(values)].log()
        return (self.mean(values.double() - log) + self._totals.log()).to(values.dtype)
