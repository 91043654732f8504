"""Search of each document's best passage for each label, in an inverted index of the labels."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
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


class _Part(NamedTuple):
    """Some passages, one after another, and what labels have of their stems.

    ``entries`` are those of `Passages`; ``places`` [E] the rows of ``tf`` [S, K], a row for each
    distinct stem, 0 for labels without it; ``bounds`` [P + 1] where the entries of each passage
    begin and end. The first passage has the number ``first``. ``owners`` are the documents that
    the passages are of, and how many of them each has.
    """

    entries: slice
    places: Tensor
    tf: Tensor
    bounds: Tensor
    first: int
    owners: list[tuple[int, int]]

    def products(self, values: Tensor, squares: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the products of the passages with the labels, and passages' lengths: [P, K]."""
        products = self._sums(self.tf, values[self.entries])
        if squares is None:
            return products, None
        lengths = (1 + self._sums(self.tf.sign(), squares[self.entries])).sqrt()
        return products / lengths, lengths

    def _sums(self, table: Tensor, weights: Tensor) -> Tensor:
        return F.embedding_bag(
            *(self.places, table, self.bounds),
            mode="sum",
            per_sample_weights=weights,
            include_last_offset=True,
        )


def _parts(tf: Tensor, passages: Passages, labels: Postings) -> Iterator[_Part]:
    """Yield some passages after others, without those that share nothing with any label.

    Sizes are known on the host, so a device waits for nothing.
    """
    device = tf.device
    owners, starts = segment_ids(passages.counts), segment_starts(labels.frequencies)
    step = max(1, SCORES // max(1, labels.label_count))
    firsts = torch.arange(0, len(owners) + step, step).clamp(max=len(owners))
    ends = torch.searchsorted(passages.rows, firsts).tolist()
    for n, (first, last) in enumerate(pairwise(firsts.tolist())):
        some = slice(ends[n], ends[n + 1])
        stems, places = torch.unique(passages.terms[some], return_inverse=True)
        frequencies = labels.frequencies[stems]
        rows = segment_ids(frequencies)
        postings = torch.arange(len(rows)) + (starts[stems] - segment_starts(frequencies))[rows]
        if not len(postings):
            continue
        bounds = torch.searchsorted(passages.rows[some], torch.arange(first, last + 1))
        rows, postings, places, bounds = (send(x, device) for x in (rows, postings, places, bounds))
        table = tf.new_zeros(len(stems), labels.label_count)
        table.view(-1)[rows * labels.label_count + labels.labels[postings]] = tf[postings]
        documents, sizes = torch.unique_consecutive(owners[first:last], return_counts=True)
        sizes_of = list(zip(documents.tolist(), sizes.tolist(), strict=True))
        yield _Part(some, places, table, bounds, first, sizes_of)


@torch.no_grad()
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
        values: of the stems of passages [E], none negative.
        squares: of new words among them [E], if there are any.
        tf: of the postings [N].
        passages: of B documents.
        labels: the index of K labels.
        with_rows: whether to tell which passages are the best.

    Returns:
        The products of the best passages with the labels [B, K], 0 where no word is shared; the
        numbers of these passages [B, K], -1 where no word is shared, if wanted; and by how much new
        words make them longer [B, K], if there are any.
    """
    best = values.new_zeros(len(passages.counts), labels.label_count)
    rows = torch.full_like(best, -1, dtype=torch.int32) if with_rows else None
    longer = torch.ones_like(best) if with_rows and squares is not None else None
    for part in _parts(tf, passages, labels):
        products, lengths = part.products(values, squares)
        start = 0
        for document, size in part.owners:
            own = products[start : start + size]
            highest = own.amax(0)
            higher = highest > best[document]
            if rows is not None:
                # `max` with indices takes three times as long on a CPU
                backwards = torch.arange(size, 0, -1, dtype=torch.float32, device=own.device)
                equal = torch.eq(own, highest, out=torch.empty_like(own, dtype=torch.float32))
                first = size - equal.mul_(backwards.unsqueeze(1)).amax(0).long()
                numbers = (first + (part.first + start)).int()
                rows[document] = numbers.where(higher, rows[document])
                if longer is not None and lengths is not None:
                    of_best = lengths[start : start + size].gather(0, first.unsqueeze(0))[0]
                    longer[document] = of_best.where(higher, longer[document])
            torch.maximum(best[document], highest, out=best[document])
            start += size
    return best, rows, longer


def best_products(
    values: Tensor, squares: Tensor | None, tf: Tensor, passages: Passages, labels: Postings
) -> Tensor:
    """Return the products that `best_passages` finds [B, K], with a gradient for all but ``tf``."""
    return _BestProducts.apply(values, squares, tf, passages, labels)  # type: ignore[no-any-return,no-untyped-call]


class _BestProducts(torch.autograd.Function):
    """See `best_products`. The backward pass computes products anew: they would fill the memory."""

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
        best, rows, _ = best_passages(values, squares, tf, passages, labels, with_rows=trained)
        context.save_for_backward(values, squares, tf, rows)
        context.passages, context.labels = passages, labels
        return best

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None, None]:
        values, squares, tf, best = context.saved_tensors
        weights = [x for x in (values, squares) if x is not None]
        gradients = [torch.zeros_like(x) for x in weights]
        columns = torch.arange(gradient.shape[1], device=gradient.device)
        for part in _parts(tf, context.passages, context.labels):
            with torch.enable_grad():
                own = [x.detach().requires_grad_() for x in weights]
                products, _ = part.products(own[0], own[1] if squares is not None else None)
            documents = slice(part.owners[0][0], part.owners[-1][0] + 1)
            rows = best[documents] - part.first
            chosen = (rows >= 0) & (rows < len(products))  # others are in another part
            places = rows.clamp(0, len(products) - 1) * gradient.shape[1] + columns
            of_products = torch.zeros_like(products)
            of_best = gradient[documents].masked_fill(~chosen, 0)
            of_products.view(-1).index_add_(0, places.view(-1), of_best.reshape(-1))
            for total, found in zip(
                gradients, torch.autograd.grad(products, own, of_products), strict=True
            ):
                total += found
        return gradients[0], gradients[1] if squares is not None else None, None, None, None
