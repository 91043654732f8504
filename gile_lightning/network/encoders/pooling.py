"""From the states of a segment's words to one vector for the segment.

A pooling maps flat states [N, dim] of segments of the given lengths [S] to [S, dim]. One with
``accepts_ids`` also accepts the states of distinct words [U, dim], and the ids [N] of the states at
each place.
"""

from typing import TypeGuard

from torch import Tensor, nn

from gile_lightning.common.factories import Part
from gile_lightning.network.encoders.segments import (
    Attend,
    segment_mean,
    segment_softmax,
    segment_sum,
)


class AttentionPooling(Part, nn.Module):
    """The weighted mean of the states, with learned weights (paper, Eq. 2).

    a_t = softmax_t(v_t u + c) with v_t = ReLU(h_t W + b); the result is the sum of a_t h_t. The
    bias c cancels in the softmax; it is there because the paper's parameter counts include it.

    Args:
        dim: size of the states; also that of v.
    """

    accepts_ids = True

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(dim, dim)
        self.score = nn.Linear(dim, 1)

    def scores(self, states: Tensor) -> Tensor:
        """Return the attention scores [N], before the softmax."""
        scores: Tensor = self.score(self.hidden(states).relu_())
        return scores.squeeze(-1)

    def weights(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return the attention weights [N]; those of a segment sum to 1."""
        return segment_softmax(self.scores(states), lengths)

    def forward(self, states: Tensor, lengths: Tensor, ids: Tensor | None = None) -> Tensor:
        """Pool states of segments of the given lengths [S] to [S, dim]; see `segment_sum`."""
        scores = self.scores(states)
        pooled: Tensor = Attend.apply(states, scores, lengths, ids)  # type: ignore[no-untyped-call]
        return pooled


class SumPooling(AttentionPooling):
    """The sum of the states, as in the authors' released WAN.

    Its softmax runs over an axis of length one, so every attention weight is 1. The parameters of
    the attention are counted, as in the paper, but get no gradient.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.requires_grad_(False)

    def forward(self, states: Tensor, lengths: Tensor, ids: Tensor | None = None) -> Tensor:
        """Pool states of segments of the given lengths [S] to [S, dim]; see `segment_sum`."""
        return segment_sum(states, lengths, ids=ids)


def attends(pooling: nn.Module) -> TypeGuard[AttentionPooling]:
    """Return whether a pooling weights the states by attention."""
    return isinstance(pooling, AttentionPooling) and not isinstance(pooling, SumPooling)


class AveragePooling(Part, nn.Module):
    """The mean of the states; zeros for an empty segment. It has no parameters.

    Args:
        dim: unused; every pooling is made from the size of the states.
    """

    accepts_ids = True

    def __init__(self, dim: int) -> None:
        super().__init__()

    def forward(self, states: Tensor, lengths: Tensor, ids: Tensor | None = None) -> Tensor:
        """Pool states of segments of the given lengths [S] to [S, dim]; see `segment_sum`."""
        return segment_mean(states, lengths, ids)
