"""WARP: the weighted approximate-rank pairwise loss of WSABIE (Weston et al., 2011)."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import segment_ids, segment_starts, send
from gile_lightning.systems.baselines.rows import add_to_rows

_FIRST = 32  # trials drawn one by one; only if these fail, all labels are scored


class Violations(NamedTuple):
    """Pairs of a positive and another label whose score is not lower by the margin.

    Shapes: ``documents`` [R] places in the batch; ``positives`` [R] and ``labels`` [R] label ids;
    ``trials`` [R] the number of draws, including those of the document's own labels.
    """

    documents: Tensor
    positives: Tensor
    labels: Tensor
    trials: Tensor


@cache
def rank_weights(labels: int) -> Tensor:
    """Return Φ(r) = 1 + 1/2 + ... + 1/r for the ranks r = 0 to ``labels``: [labels + 1].

    This loss of rank r makes the top of the ranking count most (Usunier et al., 2009).
    """
    ranks = torch.arange(1, labels + 1, dtype=torch.double)
    return torch.cat([ranks.new_zeros(1), ranks.reciprocal().cumsum(0)])


def find_violations(
    queries: Tensor,
    labels: Tensor,
    positives: Tensor,
    own: Tensor,
    margin: float,
    generator: torch.Generator,
    first: int = _FIRST,
) -> tuple[Tensor, Tensor]:
    """Draw labels until the score of one exceeds that of a positive minus the margin.

    Labels are drawn uniformly, with replacement, from all L. A label of the document is a trial
    without a violation. The search ends after L - |P| trials. After ``first`` draws one by one, all
    labels are scored: the number of further trials is drawn from the geometric distribution of the
    share of violations, and the violation uniformly among them. The distribution is the same.

    Args:
        queries: projected documents [B, d], whose products with label vectors are scores.
        labels: label vectors [L, d].
        positives: a label of each document [B].
        own: which labels each document has [B, L].
        margin: the required difference of scores.
        generator: source of randomness, on the device of ``queries``.
        first: trials drawn one by one.

    Returns:
        The label of each document's violation [B], and the number of trials [B], 0 for none.
    """
    count = len(labels)
    limits = count - own.sum(1)
    bounds = (queries * labels[positives]).sum(1) - margin
    drawn = torch.randint(count, (len(queries), first), generator=generator, device=queries.device)
    vectors = labels.index_select(0, drawn.flatten()).view(*drawn.shape, -1)
    scores = torch.bmm(queries.unsqueeze(1), vectors.transpose(1, 2)).squeeze(1)
    violated = (scores > bounds.unsqueeze(1)) & ~own.gather(1, drawn)
    found, place = violated.max(1)
    found_labels = drawn.gather(1, place.unsqueeze(1)).squeeze(1)
    trials = torch.where(found, place + 1, 0)
    rest = (~found & (limits > first)).nonzero().squeeze(1)
    if len(rest):
        more = (queries[rest] @ labels.T > bounds[rest].unsqueeze(1)) & ~own[rest]
        found_labels[rest], further = _draw(more, generator)
        trials[rest] = first + further
    return found_labels, trials.masked_fill_(trials > limits, 0)


def _draw(violated: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw one of the violations [B, L], and the number of uniform trials until the first [B]."""
    cumulative = violated.cumsum(1, dtype=torch.int32)
    counts = cumulative[:, -1].double()
    which, when = torch.rand(
        2, len(violated), generator=generator, device=violated.device, dtype=torch.double
    )
    order = (which * counts).to(torch.int32) + 1
    labels = torch.searchsorted(cumulative, order.unsqueeze(1)).squeeze(1)
    trials = torch.log1p(-when) / torch.log1p(-counts / violated.shape[1]) + 1
    none = float(violated.shape[1])  # with those before above any limit; else it may be infinite
    return labels.clamp(max=violated.shape[1] - 1), trials.nan_to_num(none).clamp(max=none).long()


def warp_updates(
    documents: Tensor,
    labels: Tensor,
    mapping: Tensor,
    rows: Tensor,
    label_ids: Tensor,
    label_counts: Tensor,
    generator: torch.Generator,
    *,
    lr: float,
    margin: float,
    max_norm: float | None = None,
    weight_decay: float = 0.0,
) -> Violations:
    """Take the stochastic gradient steps of WARP for a batch of documents.

    The score of a document and a label is w · (M x). A document's positives p come in random order.
    If a search (`find_violations`) finds label l after q trials, with Φ of `rank_weights`,

        s = η Φ(⌊(L - |P|) / q⌋) / |P|,
        w_p += s M x,  w_l -= s M x,  x -= s Mᵀ(w_l - w_p),  M -= s (w_l - w_p) xᵀ,  M -= η λ M,

    where the right sides have the values before the step, and vectors longer than the limit are
    scaled to it. All documents take the step of their first positive at once, then that of the
    second, and so on; steps that change the same vector are summed up. A batch of one document is
    the original algorithm; one of B documents is like B threads in lockstep.

    Args:
        documents: all document vectors x [N, d], changed in place as the next two.
        labels: vectors w [L, d] of the labels seen in training.
        mapping: the matrix M [d, d].
        rows: which documents are in the batch [B].
        label_ids: their labels [P], flat.
        label_counts: labels of each [B].
        generator: source of randomness, on the device of the vectors.
        lr: the step η, times the weight of this loss.
        margin: the required difference of scores of a positive and any other label.
        max_norm: the largest norm of document and label vectors.
        weight_decay: λ of M.

    Returns:
        The violations in the order of the documents, and of each one's positives.
    """
    device, count = labels.device, len(labels)
    own = torch.zeros(len(rows), count, dtype=torch.bool, device=device)
    own[segment_ids(label_counts), label_ids] = True
    weights = send(rank_weights(count).to(labels.dtype), device)
    found = [Violations(*(label_ids.new_zeros(0) for _ in Violations._fields))]
    for batch, positives in _rounds(label_ids, label_counts, generator):
        x = documents.index_select(0, rows[batch])
        queries = x @ mapping.T
        others, trials = find_violations(queries, labels, positives, own[batch], margin, generator)
        hit = trials.nonzero().squeeze(1)
        violations = Violations(batch[hit], positives[hit], others[hit], trials[hit])
        found.append(violations)
        batch, positives, others, trials = violations
        x, queries, own_count = x[hit], queries[hit], label_counts[batch]
        ranks = torch.div(count - own_count, trials, rounding_mode="floor")
        steps = lr * weights[ranks] / own_count
        pulls = (labels[others] - labels[positives]) * steps.unsqueeze(1)
        changes = queries * steps.unsqueeze(1)
        add_to_rows(
            labels,
            torch.cat([positives, others]),
            torch.cat([changes, -changes]),
            max_norm=max_norm,
        )
        add_to_rows(documents, rows[batch], -(pulls @ mapping), max_norm=max_norm)
        mapping.sub_(pulls.T @ x + lr * weight_decay * len(hit) * mapping)
    together = [torch.cat(parts) for parts in zip(*found, strict=True)]
    order = together[0].sort(stable=True).indices
    return Violations(*(part[order] for part in together))


def _rounds(
    label_ids: Tensor, label_counts: Tensor, generator: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Shuffle each document's positives; yield the first of every document, then the second, ..."""
    owners = segment_ids(label_counts)
    keys = torch.rand(
        len(label_ids), generator=generator, device=label_ids.device, dtype=torch.double
    )
    shuffled = label_ids[(owners + keys).sort().indices]
    starts = segment_starts(label_counts)
    for turn in range(int(label_counts.max()) if len(label_counts) else 0):
        batch = (label_counts > turn).nonzero().squeeze(1)
        yield batch, shuffled[starts[batch] + turn]
