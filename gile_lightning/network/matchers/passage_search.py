"""Search of each document's best passage for each label, in an inverted index of the labels."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gile_lightning.data.loading.flat import segment_ids, segment_starts, send

SCORES = 2**22  # of passages and labels that are computed at once: 16 MB
SCORES_ON_A_GPU = 2**25  # 128 MB
_LAST = 2**31 - 1  # above the number of any passage
PAIR = 8  # scores that take as much memory as a pair of a passage's stem and a label that has it


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
    parts: "list[PassagePart] | None" = None


class Entries(NamedTuple):
    """The stems of passages, on the device that computes scores.

    Shapes: ``rows``, ``terms`` and ``times`` [E] are those of `Passages`; ``documents`` [E], whose
    they are; ``of_known`` [M], which of them were known before labels were; ``known`` [E] the same
    as a mask, if labels have others.
    """

    rows: Tensor
    terms: Tensor
    times: Tensor
    documents: Tensor
    of_known: Tensor
    known: Tensor | None


class PassagePart(NamedTuple):
    """Some passages, one after another, and where the postings of their stems are.

    Shapes: ``entries`` [M], those of the passages whose stem some label has; ``counts`` [M], how
    many labels have it, ``pair_count`` in all; ``shifts`` [M], the place of its first posting less
    the number of its first pair. The first of the ``size`` passages has the number ``first``.
    """

    entries: Tensor
    counts: Tensor
    shifts: Tensor
    pair_count: int
    first: int
    size: int


class PassagePairs(NamedTuple):
    """The N pairs of a part: a stem of a passage, and a label that has it. [N] each.

    ``entries`` and ``postings`` are the places of both, ``rows`` the numbers of the passages,
    ``in_part`` the places of passage and label in a matrix of the part's passages [P, K], and
    ``cells`` those of document and label in a matrix [B, K].
    """

    entries: Tensor
    postings: Tensor
    rows: Tensor
    in_part: Tensor
    cells: Tensor

    @classmethod
    def of(cls, part: PassagePart, entries: Entries, labels: Postings) -> "PassagePairs":
        """Look up the pairs of a part, where scores are computed: there are many."""
        numbers = torch.arange(part.pair_count, device=part.counts.device)
        own = segment_ids(part.counts, numbers)
        postings = numbers.add_(part.shifts.index_select(0, own))
        own = part.entries.index_select(0, own)
        rows = entries.rows.index_select(0, own)
        columns = labels.labels.index_select(0, postings)
        in_part = (rows - part.first).mul_(labels.label_count).add_(columns)
        cells = entries.documents.index_select(0, own).mul_(labels.label_count).add_(columns)
        return cls(own, postings, rows, in_part, cells)


def find_parts(passages: Passages, labels: Postings) -> Iterator[PassagePart]:
    """Yield some passages after others, but parts that share nothing with any label.

    Sizes are known on the host, so a device waits for nothing.
    """
    device = labels.labels.device
    frequencies = labels.frequencies[passages.terms]
    shared = frequencies.nonzero().squeeze(1)
    frequencies, rows = frequencies[shared], passages.rows[shared]
    begins = segment_starts(labels.frequencies)[passages.terms[shared]]
    pairs = torch.zeros(int(passages.counts.sum()), dtype=torch.long)
    pairs.index_add_(0, rows, frequencies)
    most = SCORES if device.type == "cpu" else SCORES_ON_A_GPU
    firsts = _cut((PAIR * pairs).clamp(min=labels.label_count), most)
    ends = torch.searchsorted(rows, torch.tensor(firsts)).tolist()
    for (first, last), (begin, end) in zip(pairwise(firsts), pairwise(ends), strict=True):
        if begin == end:
            continue
        counts = frequencies[begin:end]
        shifts = begins[begin:end] - segment_starts(counts)
        entries, there, shifts = (send(x, device) for x in (shared[begin:end], counts, shifts))
        yield PassagePart(entries, there, shifts, int(counts.sum()), first, last - first)


def _cut(sizes: Tensor, most: int) -> list[int]:
    """Return where to cut segments of ``sizes`` [P], so that parts have ``most``, or one segment.

    >>> _cut(torch.tensor([3, 3, 3, 9, 1]), 6)
    [0, 2, 3, 4, 5]
    """
    ends, cuts = sizes.cumsum(0), [0]
    while cuts[-1] < len(sizes):
        before = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(torch.searchsorted(ends, before + most, right=True))))
    return cuts


@torch.no_grad()
def best_passages(
    values: Tensor,
    squares: Tensor | None,
    tf: Tensor,
    passages: Passages,
    labels: Postings,
    with_passages: bool,
    parts: Sequence[PassagePart] | None = None,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Find the best passage of each document for each label.

    It takes time for each stem that a passage shares with a label, and hardly any for others.

    Args:
        values: of the stems of passages [E], none negative.
        squares: of new words among them [E], if there are any.
        tf: of the postings [N].
        passages: of B documents.
        labels: the index of K labels.
        with_passages: whether to tell which passages are the best.
        parts: of the passages, if they are made already; else they are made one by one.

    Returns:
        The products of the best passages with the labels [B, K], 0 where no word is shared; the
        numbers of these passages [B, K], -1 where no word is shared, if wanted; and by how much new
        words make them longer [B, K], if there are any.
    """
    shape = len(passages.counts), labels.label_count
    highest = values.new_zeros(shape)
    keys = torch.zeros(shape, dtype=torch.long, device=values.device) if with_passages else None
    sums = values.new_zeros(0)  # 0 between two sums
    for part in find_parts(passages, labels) if parts is None else parts:
        if part.size * labels.label_count > len(sums):
            sums = values.new_zeros(part.size * labels.label_count)
        pairs = PassagePairs.of(part, passages.entries, labels)
        added = values.index_select(0, pairs.entries) * tf.index_select(0, pairs.postings)
        found = _sums(sums, pairs, added)
        if squares is not None:
            found /= _lengths(sums, pairs, squares.index_select(0, pairs.entries))
        highest.view(-1).scatter_reduce_(0, pairs.cells, found, "amax")
        if keys is not None:
            keys.view(-1).scatter_reduce_(0, pairs.cells, _keys(found, pairs.rows), "amax")
    if keys is None:
        return highest, None, None
    best = (_LAST - (keys & _LAST)).where(keys > _LAST, -1).int()
    if squares is None:
        return highest, best, None
    longer = torch.ones_like(highest)
    for part in find_parts(passages, labels) if parts is None else parts:
        pairs = PassagePairs.of(part, passages.entries, labels)
        lengths = _lengths(sums, pairs, squares.index_select(0, pairs.entries))
        others = best.view(-1).index_select(0, pairs.cells) != pairs.rows
        longer.view(-1).scatter_reduce_(0, pairs.cells, lengths.masked_fill_(others, 1), "amax")
    return highest, best, longer


def _keys(products: Tensor, rows: Tensor) -> Tensor:
    """Return numbers [N] that are ordered by product, and then the first passage before others.

    The bits of numbers of float32 that are not negative have the order of the numbers.
    """
    return (products.float().view(torch.int32).long() << 31) | (_LAST - rows)


def _sums(buffer: Tensor, pairs: PassagePairs, values: Tensor) -> Tensor:
    """Add up the values of pairs of the same passage and label: [N]. The buffer is 0 again then."""
    found = buffer.index_add_(0, pairs.in_part, values).index_select(0, pairs.in_part)
    buffer.index_fill_(0, pairs.in_part, 0)
    return found


def _lengths(buffer: Tensor, pairs: PassagePairs, squares: Tensor) -> Tensor:
    """Return by how much new words make passages longer [N], of the pairs' squares of these."""
    return (1 + _sums(buffer, pairs, squares)).sqrt_()


def best_products(
    values: Tensor, squares: Tensor | None, tf: Tensor, passages: Passages, labels: Postings
) -> Tensor:
    """Return the products that `best_passages` finds [B, K], with a gradient for all but ``tf``."""
    return _BestProducts.apply(values, squares, tf, passages, labels)  # type: ignore[no-any-return,no-untyped-call]


class _BestProducts(torch.autograd.Function):
    """See `best_products`. The backward pass looks pairs up anew: they would fill the memory."""

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
        found = best_passages(values, squares, tf, passages, labels, trained, parts)
        highest, best, longer = found
        context.save_for_backward(values, squares, tf, highest, best, longer)
        context.parts, context.entries, context.labels = parts, passages.entries, labels
        return highest

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None, None]:
        values, squares, tf, highest, best, longer = context.saved_tensors
        of_values = torch.zeros_like(values)
        of_squares = None if squares is None else torch.zeros_like(squares)
        gradient, best = gradient.reshape(-1), best.view(-1)
        of_longer = None
        if longer is not None:
            gradient = gradient / longer.view(-1)
            of_longer = gradient * highest.view(-1) / (-2 * longer.view(-1))
        for part in context.parts:
            pairs = PassagePairs.of(part, context.entries, context.labels)
            others = best.index_select(0, pairs.cells) != pairs.rows
            added = gradient.index_select(0, pairs.cells).masked_fill_(others, 0)
            added *= tf.index_select(0, pairs.postings)
            of_values.index_add_(0, pairs.entries, added)
            if of_squares is not None and of_longer is not None:
                added = of_longer.index_select(0, pairs.cells).masked_fill_(others, 0)
                of_squares.index_add_(0, pairs.entries, added)
        return of_values, of_squares, None, None, None
