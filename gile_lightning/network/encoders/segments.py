"""Sums, means and softmax over the segments of flat tensors.

Lengths and ids may be on the host where the vectors are on a device: they are sent there.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from gile_lightning.data.loading.flat import segment_ids, segment_starts, send, sum_by_id


def document_words(sentence_lengths: Tensor, document_lengths: Tensor) -> Tensor:
    """Return the number of words of every document [B]."""
    words_before = F.pad(sentence_lengths.cumsum(0), (1, 0))
    ends = words_before[document_lengths.cumsum(0)]
    return ends.diff(prepend=words_before[:1])


def segment_softmax(scores: Tensor, lengths: Tensor, ids: Tensor | None = None) -> Tensor:
    """Compute the softmax of flat scores [N] within each segment of the given lengths [S].

    ``ids`` [N] is the result of `segment_ids`, computed here if it is None.
    """
    lengths = send(lengths, scores.device)
    ids = segment_ids(lengths, scores) if ids is None else ids
    highest = torch.segment_reduce(scores.detach(), "max", lengths=lengths, unsafe=True)
    exponentials = (scores - highest[ids]).exp()
    totals = exponentials.new_zeros(len(lengths)).index_add(0, ids, exponentials)
    return exponentials / totals[ids]


def segment_sum(
    values: Tensor, lengths: Tensor, weights: Tensor | None = None, ids: Tensor | None = None
) -> Tensor:
    """Sum flat vectors within each segment: [S, d], zeros for an empty one.

    It is an embedding bag, which does not store the weighted vectors.

    Args:
        values: the vectors [N, d], or distinct vectors [U, d] if there are ids.
        lengths: of the segments [S]; their sum is N.
        weights: factors of the vectors [N]; by default 1.
        ids: which distinct vector stands at each place [N].
    """
    lengths = send(lengths, values.device)
    if ids is None:
        ids = torch.arange(len(values), device=values.device)
        return F.embedding_bag(
            ids, values, segment_starts(lengths), mode="sum", per_sample_weights=weights
        )
    ids = send(ids, values.device)
    summed: Tensor = Sum.apply(values, lengths, weights, ids)  # type: ignore[no-untyped-call]
    return summed


def segment_mean(values: Tensor, lengths: Tensor, ids: Tensor | None = None) -> Tensor:
    """Average flat vectors within each segment: [S, d], zeros for an empty one."""
    lengths = send(lengths, values.device)
    return segment_sum(values, lengths, ids=ids) / lengths.clamp(min=1).unsqueeze(-1)


class Sum(torch.autograd.Function):
    """Sum vectors of a table [U, d] in each segment: [S, d]; see `segment_sum`.

    The gradient of the table is an embedding bag too: for each vector the sum of the segments'
    gradients over the vector's places. Autograd's own takes four times as long.
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
        segments = segment_ids(lengths, ids)
        of_table = of_weights = None
        if ctx.needs_input_grad[0]:
            of_table = sum_by_id(gradient, segments, ids, len(table), weights)
        if ctx.needs_input_grad[2]:
            of_places = gradient.index_select(0, segments)
            of_weights = torch.linalg.vecdot(table.index_select(0, ids), of_places)
        return of_table, None, of_weights, None


class Attend(torch.autograd.Function):
    """Sum states in each segment, weighted by the softmax of their scores: [S, d].

    It equals `segment_sum` with the weights of `segment_softmax`, but its backward pass is faster
    than autograd's. With g the gradient of a segment's sum, the gradient of its state h_t is a_t g,
    and that of the score a_t (h_t · g - Σ_j a_j h_j · g). With ids, a word has one state and one
    score however often it occurs, and their gradients are sums over its places.
    """

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, scores: Tensor, lengths: Tensor, ids: Tensor | None
    ) -> Tensor:
        """Pool states with scores, [N, d] and [N] or [U, d] and [U] with ids [N], to [S, d]."""
        lengths = send(lengths, scores.device)
        ids = None if ids is None else send(ids, scores.device)
        of_places = scores if ids is None else scores.index_select(0, ids)
        segments = segment_ids(lengths, of_places)
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
        # in float32, as above: a frequent word has thousands of places
        precise = of_scores.to(torch.promote_types(of_scores.dtype, torch.float))
        summed = precise.new_zeros(len(states)).index_add_(0, ids, precise)
        return of_states, summed.to(of_scores.dtype), None, None
