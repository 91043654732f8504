"""Search of each document's best passage for each label, in an inverted index of the labels."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gile_lightning.data.loading.ragged import segment_ids, segment_starts, send

SCORES = 2**22  # of passages and labels that are in memory at once: 16 MB


class Postings(NamedTuple):
    """The labels that have a stem, stem by stem: an inverted index of the bags of K labels.

    Shapes: ``labels``, ``terms`` and ``times`` [N], the latter how often a label has a stem; they
    are in the order of the terms, and where the scores are computed. ``frequencies`` [S], how many
    labels have each stem, and ``stems`` [V + new words], the stem of every word, are on the host.
    ``label_count`` is K; ``new`` is that of `Bags`.
    """

    labels: Tensor
    terms: Tensor
    times: Tensor
    frequencies: Tensor
    stems: Tensor
    label_count: int
    new: bool


class Passages(NamedTuple):
    """The passages of B documents, one document after another, on the host.

    Shapes: ``counts`` [B] passages of each document; ``rows``, ``terms`` and ``times`` [E], each
    stem of a passage once: the passage, the stem, and how often it is there; ``words`` and
    ``places`` [M], for each occurrence the number of the word among all words, and the stem's place
    among the E.
    """

    counts: Tensor
    rows: Tensor
    terms: Tensor
    times: Tensor
    words: Tensor
    places: Tensor


def best_products(
    values: Tensor, squares: Tensor | None, tf: Tensor, passages: Passages, labels: Postings
) -> Tensor:
    """Return the products that `best_passages` finds [B, K], with a gradient for all but ``tf``."""
    return _BestProducts.apply(values, squares, tf, passages, labels)  # type: ignore[no-any-return,no-untyped-call]


class _BestProducts(torch.autograd.Function):
    """See `best_products`."""

    @staticmethod
    def forward(
        context: Any,
        values: Tensor,
        squares: Tensor | None,
        tf: Tensor,
        passages: Passages,
        labels: Postings,
    ) -> Tensor:
        trained = context.needs_input_grad[0]
        products, best, longer = best_passages(
            values, squares, tf, passages, labels, with_rows=trained
        )
        context.save_for_backward(tf, best, longer, products)
        context.passages, context.labels, context.size = passages, labels, len(values)
        return products

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None, None]:
        tf, best, longer, products = context.saved_tensors
        of_values = gradient.new_zeros(context.size)
        of_squares = None
        if longer is not None:
            of_squares = of_values.clone()
            of_lengths = -gradient * products / (2 * longer**2)
            gradient = gradient / longer
        for part in _parts(context.passages, context.labels):
            at = part.documents * gradient.shape[1] + part.labels
            chosen = best.view(-1)[at] == part.rows
            added = gradient.reshape(-1)[at] * tf[part.postings] * chosen
            of_values.index_add_(0, part.entries, added)
            if of_squares is not None:
                of_squares.index_add_(0, part.entries, of_lengths.view(-1)[at] * chosen)
        return of_values, of_squares, None, None, None


class _Part(NamedTuple):
    """What some passages share with labels: a stem of a passage and of a label [M].

    The stem is the one of ``entries`` of `Passages`, and of ``postings``; ``rows``, ``documents``
    and ``labels`` are passage, document and label. The passages are those from ``first`` to before
    ``last``; ``owners`` are the documents that they are of, and how many of them each has.
    """

    entries: Tensor
    postings: Tensor
    rows: Tensor
    documents: Tensor
    labels: Tensor
    first: int
    last: int
    owners: list[tuple[int, int]]


def _parts(passages: Passages, labels: Postings) -> Iterator[_Part]:
    """Yield what passages share with labels, for some passages after others.

    Sizes are known on the host, so a device waits for nothing.
    """
    device = labels.labels.device
    owners = segment_ids(passages.counts)
    hits = labels.frequencies[passages.terms]
    starts = segment_starts(labels.frequencies)[passages.terms]
    step = max(1, SCORES // max(1, labels.label_count))
    bounds = torch.arange(0, len(owners) + step, step).clamp(max=len(owners))
    ends = torch.searchsorted(passages.rows, bounds).tolist()
    on_host = passages.rows, owners[passages.rows]
    rows, documents = (send(x, device) for x in on_host)
    for n, (first, last) in enumerate(pairwise(bounds.tolist())):
        some = slice(ends[n], ends[n + 1])
        own = hits[some]
        total = int(own.sum())
        entries = segment_ids(own, labels.labels.new_empty(total))
        shift = send(starts[some] - segment_starts(own), device)
        postings = shift[entries] + torch.arange(total, device=device)
        entries = entries + ends[n]
        numbers, sizes = torch.unique_consecutive(owners[first:last], return_counts=True)
        yield _Part(
            *(entries, postings, rows[entries], documents[entries], labels.labels[postings]),
            *(first, last, list(zip(numbers.tolist(), sizes.tolist(), strict=True))),
        )


def best_passages(
    values: Tensor,
    squares: Tensor | None,
    tf: Tensor,
    passages: Passages,
    labels: Postings,
    with_rows: bool,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Find the best passage of each document for each label.

    Args:
        values: of the stems of passages [E].
        squares: of new words among them [E], if there are any.
        tf: of the postings [N].
        passages: of B documents.
        labels: the index of K labels.
        with_rows: whether to tell which passages are the best.

    Returns:
        The products of the best passages with the labels [B, K], 0 where no word is shared; the
        numbers of these passages [B, K], if wanted; and by how much new words make them longer
        [B, K], if there are any.
    """
    products = values.new_zeros(len(passages.counts), labels.label_count)
    best = torch.zeros_like(products, dtype=torch.int32) if with_rows else None
    longer = torch.ones_like(products) if with_rows and squares is not None else None
    for part in _parts(passages, labels):
        shape = part.last - part.first, labels.label_count
        places = (part.rows - part.first) * labels.label_count + part.labels
        table = values.new_zeros(shape)
        table.view(-1).index_add_(0, places, values[part.entries] * tf[part.postings])
        lengths = None
        if squares is not None:
            lengths = torch.ones_like(table)
            lengths.view(-1).index_add_(0, places, squares[part.entries])
            table /= lengths.sqrt_()
        start = 0
        for document, size in part.owners:
            own = table[start : start + size]
            if best is None:
                torch.maximum(products[document], own.amax(0), out=products[document])
            else:
                found, rows = own.max(0)
                higher = found > products[document]
                products[document] = found.where(higher, products[document])
                numbers = (rows + (part.first + start)).int()
                best[document] = numbers.where(higher, best[document])
                if longer is not None and lengths is not None:
                    of_best = lengths[start : start + size].gather(0, rows.unsqueeze(0))[0]
                    longer[document] = of_best.where(higher, longer[document])
            start += size
    return products, best, longer
