"""Search of each document's best passage for each label, in an inverted index of the labels."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from gile_lightning.data.loading.ragged import segment_ids, segment_starts, send

SCORES = 2**22  # of passages and labels that are computed at once: 16 MB


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
    """Some passages, one after another, and a table of what labels have of their stems.

    Shapes: ``entries`` [M], which of `Passages` are these passages' and of a stem that a label has;
    ``places`` [M], their rows in ``table`` [S, K], 0 for labels without the stem; ``bounds``
    [P + 1], where the entries of each passage begin and end. The first passage has the number
    ``first``. ``owners`` are the documents that the passages are of, and how many of them each has.
    """

    entries: Tensor
    places: Tensor
    table: Tensor
    bounds: Tensor
    first: int
    owners: list[tuple[int, int]]

    def products(
        self, values: Tensor, squares: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the products of passages and labels [P, K].

        Also return by how much new words make passages longer [P, K], if there are any.
        """
        products = self._sums(self.table, values)
        if squares is None:
            return products, None
        longer = (1 + self._sums(self.table.sign(), squares)).sqrt()
        return products / longer, longer

    def _sums(self, table: Tensor, values: Tensor) -> Tensor:
        return F.embedding_bag(
            *(self.places, table, self.bounds),
            mode="sum",
            per_sample_weights=values[self.entries],
            include_last_offset=True,
        )


def _parts(tf: Tensor, passages: Passages, labels: Postings) -> Iterator[_Part]:
    """Yield some passages after others, but parts that share nothing with any label.

    Sizes are known on the host, so a device waits for nothing.
    """
    device = tf.device
    owners, starts = segment_ids(passages.counts), segment_starts(labels.frequencies)
    shared = labels.frequencies[passages.terms].nonzero().squeeze(1)
    terms, passage_ids = passages.terms[shared], passages.rows[shared]
    step = max(1, SCORES // max(1, labels.label_count))
    firsts = torch.arange(0, len(owners) + step, step).clamp(max=len(owners))
    ends = torch.searchsorted(passage_ids, firsts).tolist()
    for n, (first, last) in enumerate(pairwise(firsts.tolist())):
        some = slice(ends[n], ends[n + 1])
        if some.start == some.stop:
            continue
        stems, places = torch.unique(terms[some], return_inverse=True)
        frequencies = labels.frequencies[stems]
        rows = segment_ids(frequencies)
        postings = torch.arange(len(rows)) + (starts[stems] - segment_starts(frequencies))[rows]
        bounds = torch.searchsorted(passage_ids[some], torch.arange(first, last + 1))
        on_host = (shared[some], places, rows, postings, bounds)
        entries, places, rows, postings, bounds = (send(x, device) for x in on_host)
        table = tf.new_zeros(len(stems), labels.label_count)
        table.view(-1)[rows * labels.label_count + labels.labels[postings]] = tf[postings]
        documents, sizes = torch.unique_consecutive(owners[first:last], return_counts=True)
        counts = list(zip(documents.tolist(), sizes.tolist(), strict=True))
        yield _Part(entries, places, table, bounds, first, counts)


@torch.no_grad()
def best_passages(
    values: Tensor,
    squares: Tensor | None,
    tf: Tensor,
    passages: Passages,
    labels: Postings,
    with_passages: bool,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Find the best passage of each document for each label.

    Args:
        values: of the stems of passages [E], none negative.
        squares: of new words among them [E], if there are any.
        tf: of the postings [N].
        passages: of B documents.
        labels: the index of K labels.
        with_passages: whether to tell which passages are the best.

    Returns:
        The products of the best passages with the labels [B, K], 0 where no word is shared; the
        numbers of these passages [B, K], -1 where no word is shared, if wanted; and by how much new
        words make them longer [B, K], if there are any.
    """
    highest = values.new_zeros(len(passages.counts), labels.label_count)
    best = torch.full_like(highest, -1, dtype=torch.int32) if with_passages else None
    longer = torch.ones_like(highest) if with_passages and squares is not None else None
    for part in _parts(tf, passages, labels):
        products, lengths = part.products(values, squares)
        start = 0
        for document, size in part.owners:
            own = products[start : start + size]
            found = own.amax(0)
            higher = found > highest[document]
            if best is not None:
                # `max` with indices takes three times as long on a CPU
                backwards = torch.arange(size, 0, -1, dtype=torch.float32, device=own.device)
                equal = torch.eq(own, found, out=torch.empty_like(own, dtype=torch.float32))
                places = size - equal.mul_(backwards.unsqueeze(1)).amax(0).long()
                numbers = (places + (part.first + start)).int()
                best[document] = numbers.where(higher, best[document])
                if longer is not None and lengths is not None:
                    places = places.clamp(max=size - 1).unsqueeze(0)  # where products are NaN
                    of_best = lengths[start : start + size].gather(0, places)[0]
                    longer[document] = of_best.where(higher, longer[document])
            torch.maximum(highest[document], found, out=highest[document])
            start += size
    return highest, best, longer


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
        highest, best, _ = best_passages(
            values, squares, tf, passages, labels, with_passages=trained
        )
        context.save_for_backward(values, squares, tf, best)
        context.passages, context.labels = passages, labels
        return highest

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
                products, _ = part.products(*own)
            documents = slice(part.owners[0][0], part.owners[-1][0] + 1)
            places = best[documents].long() - part.first
            chosen = (places >= 0) & (places < len(products))  # others are in another part
            places = places.clamp(0, len(products) - 1) * gradient.shape[1] + columns
            of_products = torch.zeros_like(products)
            of_best = gradient[documents].masked_fill(~chosen, 0)
            of_products.view(-1).index_add_(0, places.view(-1), of_best.reshape(-1))
            for total, found in zip(
                gradients, torch.autograd.grad(products, own, of_products), strict=True
            ):
                total += found
        return gradients[0], gradients[1] if squares is not None else None, None, None, None
