"""From the states of a segment's words to one vector for the segment.

A pooling maps flat states [N, dim] of segments of the given lengths [S] to [S, dim]. One that
`takes_ids` can also be given the states of distinct words [U, dim], and ids [N] that say which of
them stands at each place.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from gile_lightning.common.factories import Part
from gile_lightning.data.loading.ragged import segment_ids, segment_starts, sum_by_id


def segment_softmax(scores: Tensor, lengths: Tensor, ids: Tensor | None = None) -> Tensor:
    """Softmax of flat scores [N] within each segment of the given lengths [S].

    ``ids`` are those of `segment_ids`, if they are at hand.
    """
    ids = segment_ids(lengths) if ids is None else ids
    highest = torch.segment_reduce(scores.detach(), "max", lengths=lengths, unsafe=True)
    exponentials = (scores - highest[ids]).exp()
    totals = exponentials.new_zeros(len(lengths)).index_add(0, ids, exponentials)
    return exponentials / totals[ids]


def segment_sum(
    values: Tensor, lengths: Tensor, weights: Tensor | None = None, ids: Tensor | None = None
) -> Tensor:
    """Sum flat vectors, times weights [N] if given, within each segment: [S, d].

    An empty segment gives zeros. An embedding bag does this without writing the weighted vectors
    out.

    Args:
        values: the vectors [N, d], or distinct ones [U, d] if there are ids.
        lengths: of the segments [S]; they add up to N.
        weights: factors [N].
        ids: which of the distinct vectors stands at each place [N].
    """
    if ids is None:
        ids = torch.arange(len(values), device=values.device)
        return F.embedding_bag(
            ids, values, segment_starts(lengths), mode="sum", per_sample_weights=weights
        )
    summed: Tensor = Sum.apply(values, lengths, weights, ids)  # type: ignore[no-untyped-call]
    return summed


def segment_mean(values: Tensor, lengths: Tensor, ids: Tensor | None = None) -> Tensor:
    """Average flat vectors within each segment, as `segment_sum`: zeros for an empty one."""
    return segment_sum(values, lengths, ids=ids) / lengths.clamp(min=1).unsqueeze(-1)


class Sum(torch.autograd.Function):
    """Sum of vectors from a table [U, d] in each segment: [S, d]; see `segment_sum`.

    The gradient of the table is such a sum too, of the segments' gradients over the places where
    a vector stands. Autograd adds up place by place, which takes four times as long.
    """

    @staticmethod
    def forward(
        ctx: Any, table: Tensor, lengths: Tensor, weights: Tensor | None, ids: Tensor
    ) -> Tensor:
        """Sum vectors ``ids`` [N] of a table [U, d], times weights [N], by segments [S]."""
        ctx.save_for_backward(table, lengths, weights, ids)
        return F.embedding_bag(
            ids, table, segment_starts(lengths), mode="sum", per_sample_weights=weights
        )

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, Tensor | None, None]:
        """Return the gradients of the table [U, d] and the weights [N]."""
        table, lengths, weights, ids = ctx.saved_tensors
        segments = segment_ids(lengths)
        of_table = of_weights = None
        if ctx.needs_input_grad[0]:
            of_table = sum_by_id(gradient, segments, ids, len(table), weights)
        if ctx.needs_input_grad[2]:
            of_places = gradient.index_select(0, segments)
            of_weights = torch.linalg.vecdot(table.index_select(0, ids), of_places)
        return of_table, None, of_weights, None


class Attend(torch.autograd.Function):
    """Sum of states, weighted by the softmax of their scores, in each segment: [S, d].

    The same as `segment_sum` with weights of `segment_softmax`. The gradients are written out
    because autograd takes longer for them: with g the gradient of a segment's sum, that of its
    state h_t is a_t g and that of its score a_t (h_t · g - Σ_j a_j h_j · g). With ids, state and
    score of a word are found once however often it stands in the batch, and their gradients are
    sums over these places.
    """

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, scores: Tensor, lengths: Tensor, ids: Tensor | None
    ) -> Tensor:
        """Pool states with scores, [N, d] and [N] or [U, d] and [U] with ids [N], to [S, d]."""
        segments = segment_ids(lengths)
        of_places = scores if ids is None else scores.index_select(0, ids)
        # in float32: a sum of bfloat16 stops growing at 256 words
        precise = of_places.to(torch.promote_types(scores.dtype, torch.float))
        weights = segment_softmax(precise, lengths, segments).to(states.dtype)
        pooled = segment_sum(states, lengths, weights, ids)
        ctx.save_for_backward(states, weights, segments, pooled, ids)
        return pooled

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """Return the gradients of the states and scores."""
        states, weights, segments, pooled, ids = ctx.saved_tensors
        of_words = gradient.index_select(0, segments)
        at_places = states if ids is None else states.index_select(0, ids)
        along = torch.linalg.vecdot(at_places, of_words)  # h_t · g
        mean = torch.linalg.vecdot(pooled, gradient)  # Σ_j a_j h_j · g
        of_scores = weights * (along - mean.index_select(0, segments))
        if ids is None:
            return of_words.mul_(weights.unsqueeze(-1)), of_scores, None, None
        of_states = sum_by_id(gradient, segments, ids, len(states), weights)
        summed = of_scores.new_zeros(len(states)).index_add_(0, ids, of_scores)
        return of_states, summed, None, None


class AttentionPooling(Part, nn.Module):
    """The weighted mean of the states, with learned weights (paper, Eq. 2).

    a_t = softmax_t(v_t u + c) with v_t = ReLU(h_t W + b); the result is the sum of a_t h_t. The
    bias c cancels in the softmax; it is there because the paper's parameter counts include it.

    Args:
        dim: size of the states; also that of v.
    """

    takes_ids = True

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
    """The plain sum of the states: what the attention of the authors' released WAN comes to.

    Their softmax runs over an axis of length one, so every weight is 1. Its parameters are
    counted, as in the paper, but get no gradient.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.requires_grad_(False)

    def forward(self, states: Tensor, lengths: Tensor, ids: Tensor | None = None) -> Tensor:
        """Pool states of segments of the given lengths [S] to [S, dim]; see `segment_sum`."""
        return segment_sum(states, lengths, ids=ids)


class AveragePooling(Part, nn.Module):
    """The mean of the states; zeros for an empty segment. It has no parameters.

    Args:
        dim: size of the states; not needed, but every pooling is given it.
    """

    takes_ids = True

    def __init__(self, dim: int) -> None:
        super().__init__()

    def forward(self, states: Tensor, lengths: Tensor, ids: Tensor | None = None) -> Tensor:
        """Pool states of segments of the given lengths [S] to [S, dim]; see `segment_sum`."""
        return segment_mean(states, lengths, ids)
