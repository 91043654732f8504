"""Count the scores of a row that are below others, and ties: the slow steps of ranking."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.data.loading.flat import segment_starts

_EACH = 4  # positives of a row in a trial
_TRIALS = 3  # of which the quickest counts


class Counts(NamedTuple):
    """How many scores of its row are below each positive, and the like: [P] integers each.

    Attributes:
        below: scores that are lower.
        not_above: scores that are lower or equal.
        tied_before: scores to its left that are equal.
        positives_below: positives that are lower.
    """

    below: Tensor
    not_above: Tensor
    tied_before: Tensor
    positives_below: Tensor


def count_below(
    scores: Tensor,
    document: Tensor,
    label_ids: Tensor,
    label_counts: Tensor,
    most: int,
    finite: bool = False,
) -> Counts:
    """Count the scores of a row that are below its positives, and the like.

    Either a row is compared with each of its positives, or it is sorted, and a binary search finds
    them there; the counts are the same. On a CPU the quicker of the two is chosen for each row, by
    a trial for each number of labels, which takes the time of some rows. Other devices sort.

    Args:
        scores: [B, K] float32 or float64.
        document: [P] rows of the positives, in their order.
        label_ids: [P] their columns.
        label_counts: [B] positives per document.
        most: the largest of these.
        finite: whether it is known that no score is NaN.

    Raises:
        ValueError: a score is NaN.
    """
    if scores.device.type == "cpu":
        return _count_row_by_row(scores, label_ids, label_counts, finite)
    if not finite:
        refuse_nan(scores)
    return _count_at_once(scores, document, label_ids, label_counts, most)


def refuse_nan(scores: Tensor) -> None:
    """Raise `ValueError` if one of the scores is NaN."""
    if scores.numel() and scores.amax().isnan():  # the maximum propagates NaN
        raise _nan()


def _nan() -> ValueError:
    return ValueError("scores contain NaN: the model diverged, look at the learning rate")


def _count_row_by_row(
    scores: Tensor, label_ids: Tensor, label_counts: Tensor, finite: bool
) -> Counts:
    """Count with NumPy, in as many threads as PyTorch has.

    NumPy sorts a row 20 times as fast as PyTorch. Nothing of PyTorch runs meanwhile: its threads
    keep their cores busy for some milliseconds after each operation.
    """
    threads = torch.get_num_threads()
    worth = _positives_in_time_of_a_sort(scores.shape[1], threads)
    matrix, columns = scores.numpy(), label_ids.numpy()
    ends = label_counts.numpy().cumsum()
    counts = np.zeros((4, len(columns)), np.int64)

    def fill(rows: NDArray[Any]) -> None:
        for i in rows.tolist():
            row, here = matrix[i], slice(ends[i - 1] if i else 0, ends[i])
            own = columns[here]
            positives = row[own]
            count = _in_sorted_row if len(own) >= worth else _one_by_one
            found = count(row, positives)
            if not finite and np.isnan(found.largest):
                raise _nan()
            counts[:2, here] = found.below, found.not_above
            for place in np.flatnonzero(found.not_above - found.below > 1).tolist():
                tied = row[: own[place]] == positives[place]
                counts[2, here.start + place] = np.count_nonzero(tied)
            counts[3, here] = np.sort(positives).searchsorted(positives)

    _in_threads(fill, np.arange(len(matrix)), threads)
    return Counts(*torch.from_numpy(counts))


class _Row(NamedTuple):
    """Of one row: its largest score, and counts for each positive."""

    largest: Any
    below: NDArray[Any]
    not_above: NDArray[Any]


def _in_sorted_row(row: NDArray[Any], positives: NDArray[Any]) -> _Row:
    """Count by binary search; NaN would be sorted to the end."""
    ascending = np.sort(row)
    below, not_above = (ascending.searchsorted(positives, side) for side in ("left", "right"))
    return _Row(ascending[-1], below, not_above)


def _one_by_one(row: NDArray[Any], positives: NDArray[Any]) -> _Row:
    """Count by comparisons; the maximum propagates NaN."""
    below = [np.count_nonzero(row < limit) for limit in positives]
    not_above = [np.count_nonzero(row <= limit) for limit in positives]
    return _Row(row.max(), np.array(below, np.int64), np.array(not_above, np.int64))


def _count_at_once(
    scores: Tensor, document: Tensor, label_ids: Tensor, label_counts: Tensor, most: int
) -> Counts:
    """Count without a loop over rows: what a GPU is good at.

    A stable sort leaves tied scores from left to right, so that a binary search among them finds
    how many are before a positive. All positives are searched: to know which of them are tied, the
    host would have to wait for the GPU.
    """
    slot = torch.arange(len(label_ids), device=document.device)
    slot -= segment_starts(label_counts)[document]
    # the positives in rows; the padding is above every score, so it changes no count
    padded = scores.new_full((len(scores), most), torch.inf)
    padded[document, slot] = scores[document, label_ids]
    ascending, order = scores.sort(dim=1, stable=True)
    below = torch.searchsorted(ascending, padded)[document, slot]
    not_above = torch.searchsorted(ascending, padded, right=True)[document, slot]
    place = _find_place(order, document, label_ids, below, not_above)
    positives_below = torch.searchsorted(padded.sort(dim=1).values, padded)[document, slot]
    return Counts(below, not_above, place - below, positives_below)


def _find_place(order: Tensor, rows: Tensor, columns: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Return where columns [P] are in the order of their rows.

    Args:
        order: the columns of each row in ascending order of their scores [B, K], those of equal
            scores in ascending order.
        rows: of the positives [P].
        columns: of the positives [P].
        low: the first place of a score that is equal to theirs [P].
        high: the place after the last one [P].
    """
    high = high - 1
    for _ in range(order.shape[1].bit_length()):  # halves them until one is left
        middle = (low + high) // 2
        before = order[rows, middle] < columns
        low, high = torch.where(before, middle + 1, low), torch.where(before, high, middle)
    return low


def _in_threads(work: Callable[[NDArray[Any]], None], array: NDArray[Any], threads: int) -> None:
    threads = min(threads, len(array))
    if threads < 2:
        work(array)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, np.array_split(array, threads)))


@cache
def _positives_in_time_of_a_sort(columns: int, threads: int) -> float:
    """With how many positives a row is compared in the time in which it is sorted."""
    rows = np.random.default_rng(0).standard_normal((threads, columns), np.float32)

    def seconds(count: Callable[[NDArray[Any], NDArray[Any]], _Row]) -> float:
        def work(some: NDArray[Any]) -> None:
            for row in some:
                count(row, row[:_EACH])

        start = perf_counter()
        _in_threads(work, rows, threads)
        return perf_counter() - start

    sorting, comparing = (
        min(seconds(count) for _ in range(_TRIALS)) for count in (_in_sorted_row, _one_by_one)
    )
    return _EACH * sorting / comparing
