"""Search of each document's best passage for each label, in an inverted index of the labels."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from gile_lightning.data.loading.flat import distinct, segment_ids, segment_starts, send

SCORES = 2**22  # of passages and labels that are computed at once: 16 MB
SCORES_ON_A_GPU = 2**25  # 128 MB


class Postings(NamedTuple):
    """The labels that have a stem, stem by stem: an inverted index of the bags of K labels.

    Shapes: ``labels``, ``terms`` and ``times`` [N], the latter how often a label has a stem; they
    are in the order of the terms, and where the scores are computed. ``frequencies`` [S], how many
    labels have each stem, and ``stems`` [V + new words], the stem of every word, are on the host.
    ``label_count`` is K; ``new`` and ``factors`` are those of `Bags`. ``passages`` are those of
    documents, where they were looked up ahead.
    """

    labels: Tensor
    terms: Tensor
    times: Tensor
    frequencies: Tensor
    stems: Tensor
    label_count: int
    new: bool
    factors: Tensor | None = None
    passages: "Passages | None" = None


class Passages(NamedTuple):
    """The passages of B documents, one document after another, on the host.

    Shapes: ``counts`` [B] passages of each document; ``rows``, ``terms`` and ``times`` [E], each
    stem of a passage once: the passage, the stem, and how often it is there; ``words`` and
    ``places`` [M], for each occurrence the number of the word among all words, and the stem's place
    among the E. ``entries`` are what scores are computed of, where that is. ``parts`` share
    something with labels, where they were looked up ahead.
    """

    counts: Tensor
    rows: Tensor
    terms: Tensor
    times: Tensor
    words: Tensor
    places: Tensor
    entries: "Entries"
    parts: "list[Part] | None" = None


class Entries(NamedTuple):
    """The stems of passages, on the device that computes scores.

    Shapes: ``rows``, ``terms`` and ``times`` [E] are those of `Passages`; ``of_known`` [M], which
    of them were known before labels were; ``known`` [E] the same as a mask, if labels have others.
    """

    rows: Tensor
    terms: Tensor
    times: Tensor
    of_known: Tensor
    known: Tensor | None


class Part(NamedTuple):
    """Some passages, one after another, and what labels have of their stems.

    Shapes: ``entries`` [M], which of `Passages` are these passages' and of a stem that a label has;
    ``places`` [M], the place of their stem among the S stems; ``bounds`` [P + 1], where the entries
    of each passage begin and end; ``postings`` [N] of the stems, and ``of_stems`` [N], the stem of
    each; int32, as a training step keeps these until its backward pass. The first passage has the
    number ``first``; the passages are of the ``documents`` [B], which have ``sizes`` [B] of them,
    on the host.
    """

    entries: Tensor
    places: Tensor
    bounds: Tensor
    postings: Tensor
    of_stems: Tensor
    stem_count: int
    first: int
    documents: slice
    sizes: Tensor

    def products(
        self, values: Tensor, squares: Tensor | None, tf: Tensor, labels: Postings
    ) -> tuple[Tensor, Tensor | None]:
        """Return the products of passages and labels [P, K].

        Also return by how much new words make passages longer [P, K], if there are any.
        """
        table = tf.new_zeros(self.stem_count, labels.label_count)
        cells = self.of_stems.long() * labels.label_count + labels.labels[self.postings]
        table.view(-1)[cells] = tf[self.postings]
        products = self._sums(table, values)
        if squares is None:
            return products, None
        longer = (1 + self._sums(table.sign(), squares)).sqrt()
        return products / longer, longer

    def _sums(self, table: Tensor, values: Tensor) -> Tensor:
        return F.embedding_bag(
            *(self.places, table, self.bounds),
            mode="sum",
            per_sample_weights=values.index_select(0, self.entries),
            include_last_offset=True,
        )


def find_parts(passages: Passages, labels: Postings) -> Iterator[Part]:
    """Yield some passages after others, but parts that share nothing with any label.

    Sizes are known on the host, so a device waits for nothing.
    """
    device = labels.labels.device
    owners, starts = segment_ids(passages.counts), segment_starts(labels.frequencies)
    shared = labels.frequencies[passages.terms].nonzero().squeeze(1)
    terms, passage_ids = passages.terms[shared], passages.rows[shared]
    most = SCORES if device.type == "cpu" else SCORES_ON_A_GPU
    step = max(1, most // max(1, labels.label_count))
    firsts = torch.arange(0, len(owners) + step, step).clamp(max=len(owners))
    ends = torch.searchsorted(passage_ids, firsts).tolist()
    for n, (first, last) in enumerate(pairwise(firsts.tolist())):
        some = slice(ends[n], ends[n + 1])
        if some.start == some.stop:
            continue
        stems, places = distinct(terms[some], len(labels.frequencies))
        frequencies = labels.frequencies[stems]
        rows = segment_ids(frequencies)
        postings = torch.arange(len(rows)) + (starts[stems] - segment_starts(frequencies))[rows]
        bounds = torch.searchsorted(passage_ids[some], torch.arange(first, last + 1))
        on_host = (shared[some], places, bounds, postings.int(), rows.int())
        entries, places, bounds, postings, rows = (send(x, device) for x in on_host)
        begin, end = int(owners[first]), int(owners[last - 1]) + 1
        sizes = (owners[first:last] - begin).bincount(minlength=end - begin)
        of = slice(begin, end)
        yield Part(entries, places, bounds, postings, rows, len(stems), first, of, sizes)


@torch.no_grad()
def best_passages(
    values: Tensor,
    squares: Tensor | None,
    tf: Tensor,
    passages: Passages,
    labels: Postings,
    with_passages: bool,
    parts: Iterable[Part] | None = None,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Find the best passage of each document for each label.

    Args:
        values: of the stems of passages [E], none negative.
        squares: of new words among them [E], if there are any.
        tf: of the postings [N].
        passages: of B documents.
        labels: the index of K labels.
        with_passages: whether to tell which passages are the best.
        parts: of the passages, if they are made already.

    Returns:
        The products of the best passages with the labels [B, K], 0 where no word is shared; the
        numbers of these passages [B, K], -1 where no word is shared, if wanted; and by how much new
        words make them longer [B, K], if there are any.
    """
    highest = values.new_zeros(len(passages.counts), labels.label_count)
    best = torch.full_like(highest, -1, dtype=torch.int32) if with_passages else None
    longer = torch.ones_like(highest) if with_passages and squares is not None else None
    for part in find_parts(passages, labels) if parts is None else parts:
        products, lengths = part.products(values, squares, tf, labels)
        found, places = _highest(products, part.sizes, with_passages)
        before = highest[part.documents]
        if best is not None and places is not None:
            higher = found > before
            numbers = (places + part.first).int()
            best[part.documents] = numbers.where(higher, best[part.documents])
            if longer is not None and lengths is not None:
                of_best = lengths.gather(0, places)
                longer[part.documents] = of_best.where(higher, longer[part.documents])
        torch.maximum(before, found, out=before)
    return highest, best, longer


def _highest(products: Tensor, sizes: Tensor, with_places: bool) -> tuple[Tensor, Tensor | None]:
    """Find the highest row of each segment in each column.

    Args:
        products: [P, K], none negative.
        sizes: of the segments [B], on the host.
        with_places: whether to tell which rows are the highest.

    Returns:
        The highest products [B, K], 0 in an empty segment; and the number of the first row that has
        them [B, K], if wanted, any row where there is none.
    """
    how = _one_by_one if products.device.type == "cpu" else _at_once
    return how(products, sizes, with_places)


def _at_once(products: Tensor, sizes: Tensor, with_places: bool) -> tuple[Tensor, Tensor | None]:
    """Do what `_highest` does without a loop."""
    owners = send(segment_ids(sizes), products.device)
    at = owners.unsqueeze(1).expand_as(products)
    found = products.new_zeros(len(sizes), products.shape[1])
    found.scatter_reduce_(0, at, products, "amax")
    if not with_places:
        return found, None
    rows = torch.arange(len(products), dtype=torch.int32, device=products.device).unsqueeze(1)
    rows = rows.where(products == found[owners], len(products) - 1)
    places = torch.full_like(found, len(products) - 1, dtype=torch.int32)
    return found, places.scatter_reduce_(0, at, rows, "amin").long()


def _one_by_one(products: Tensor, sizes: Tensor, with_places: bool) -> tuple[Tensor, Tensor | None]:
    """Do what `_highest` does, segment by segment: on a CPU a segment stays in the cache."""
    found = products.new_zeros(len(sizes), products.shape[1])
    places = torch.zeros_like(found, dtype=torch.long) if with_places else None
    start = 0
    for n, size in enumerate(sizes.tolist()):
        if not size:
            continue
        own = products[start : start + size]
        torch.amax(own, 0, out=found[n])
        if places is not None:
            # `max` with indices takes three times as long
            backwards = torch.arange(size, 0, -1, dtype=torch.float32)
            equal = torch.eq(own, found[n], out=torch.empty_like(own, dtype=torch.float32))
            behind = equal.mul_(backwards.unsqueeze(1)).amax(0).clamp(min=1)
            torch.sub(start + size, behind.long(), out=places[n])
        start += size
    return found, places


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
        parts = passages.parts
        if trained and parts is None:
            parts = list(find_parts(passages, labels))
        highest, best, _ = best_passages(values, squares, tf, passages, labels, trained, parts)
        context.save_for_backward(values, squares, tf, best)
        context.parts, context.labels = parts, labels
        return highest

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None, None]:
        values, squares, tf, best = context.saved_tensors
        weights = [x for x in (values, squares) if x is not None]
        gradients = [torch.zeros_like(x) for x in weights]
        columns = torch.arange(gradient.shape[1], device=gradient.device)
        for part in context.parts:
            with torch.enable_grad():
                own = [x.detach().requires_grad_() for x in weights]
                of_new = None if squares is None else own[1]
                products, _ = part.products(own[0], of_new, tf, context.labels)
            places = best[part.documents].long() - part.first
            chosen = (places >= 0) & (places < len(products))  # others are in another part
            places = places.clamp(0, len(products) - 1) * gradient.shape[1] + columns
            of_products = torch.zeros_like(products)
            of_best = gradient[part.documents].masked_fill(~chosen, 0)
            of_products.view(-1).index_add_(0, places.view(-1), of_best.reshape(-1))
            for total, found in zip(
                gradients, torch.autograd.grad(products, own, of_products), strict=True
            ):
                total += found
        return gradients[0], gradients[1] if squares is not None else None, None, None, None
