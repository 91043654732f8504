"""From the states of a segment's words to one vector for the segment."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from gile_lightning.data.ragged import segment_ids, segment_starts


def segment_softmax(scores: Tensor, lengths: Tensor, ids: Tensor | None = None) -> Tensor:
    """Softmax of flat scores [N] within each segment of the given lengths [S].

    ``ids`` are those of `segment_ids`, if they are at hand.
    """
    ids = segment_ids(lengths) if ids is None else ids
    highest = torch.segment_reduce(scores.detach(), "max", lengths=lengths, unsafe=True)
    exponentials = (scores - highest[ids]).exp()
    totals = exponentials.new_zeros(len(lengths)).index_add(0, ids, exponentials)
    return exponentials / totals[ids]


def segment_sum(values: Tensor, lengths: Tensor, weights: Tensor | None = None) -> Tensor:
    """Sum flat vectors [N, d], times weights [N] if given, within each segment: [S, d].

    An empty segment gives zeros. An embedding bag over the identity does this without writing
    the weighted vectors out.
    """
    rows = torch.arange(len(values), device=values.device)
    return F.embedding_bag(
        rows, values, segment_starts(lengths), mode="sum", per_sample_weights=weights
    )


def segment_mean(values: Tensor, lengths: Tensor) -> Tensor:
    """Average flat vectors [N, d] within each segment: [S, d], zeros for an empty one."""
    return segment_sum(values, lengths) / lengths.clamp(min=1).unsqueeze(-1)


class Attend(torch.autograd.Function):
    """Sum of flat states [N, d], weighted by the softmax of scores [N], in each segment: [S, d].

    The same as `segment_sum` with weights of `segment_softmax`. The gradients are written out
    because autograd takes longer for them: with g the gradient of a segment's sum, that of its
    state h_t is a_t g and that of its score a_t (h_t · g - Σ_j a_j h_j · g).
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, scores: Tensor, lengths: Tensor) -> Tensor:
        """Pool states [N, d] with scores [N] of segments of the given lengths [S] to [S, d]."""
        ids = segment_ids(lengths)
        weights = segment_softmax(scores, lengths, ids)
        pooled = segment_sum(states, lengths, weights)
        ctx.save_for_backward(states, weights, ids, pooled)
        return pooled

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        """Return the gradients of the states [N, d] and scores [N]."""
        states, weights, ids, pooled = ctx.saved_tensors
        of_words = gradient.index_select(0, ids)
        along = torch.linalg.vecdot(states, of_words)  # h_t · g
        mean = torch.linalg.vecdot(pooled, gradient)  # Σ_j a_j h_j · g
        of_scores = weights * (along - mean.index_select(0, ids))
        return of_words.mul_(weights.unsqueeze(-1)), of_scores, None


class AttentionPooling(nn.Module):
    """The weighted mean of the states, with learned weights (paper, Eq. 2).

    a_t = softmax_t(v_t u + c) with v_t = ReLU(h_t W + b); the result is the sum of a_t h_t. The
    bias c cancels in the softmax; it is there because the paper's parameter counts include it.

    Args:
        dim: size of the states; also that of v.
    """

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

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Pool states [N, dim] of segments of the given lengths [S] to [S, dim]."""
        pooled: Tensor = Attend.apply(states, self.scores(states), lengths)  # type: ignore[no-untyped-call]
        return pooled


class SumPooling(AttentionPooling):
    """The plain sum of the states: what the attention of the authors' released WAN comes to.

    Their softmax runs over an axis of length one, so every weight is 1. Its parameters are
    counted, as in the paper, but get no gradient.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.requires_grad_(False)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Pool states [N, dim] of segments of the given lengths [S] to [S, dim]."""
        return segment_sum(states, lengths)


class AveragePooling(nn.Module):
    """The mean of the states; zeros for an empty segment. It has no parameters.

    Args:
        dim: size of the states; not needed, but every pooling is given it.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Pool states [N, dim] of segments of the given lengths [S] to [S, dim]."""
        return segment_mean(states, lengths)
