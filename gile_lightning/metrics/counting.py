"""Count the scores of a row that are below others, and ties: the slow steps of ranking."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_COMPARED = 2**22  # scores compared at a time on a GPU
_EACH = 4  # positives of a row in a trial
_TRIALS = 3  # of which the quickest counts


def count_below(
    scores: Tensor, document: Tensor, slot: Tensor, positives: Tensor
) -> tuple[Tensor, Tensor]:
    """Count the scores of a row that are below a positive, and those that are not above it.

    Either the row is compared with each of its positives, or it is sorted, and a binary search
    finds them there; the counts are the same. On a CPU the quicker of the two is chosen, by a trial
    for each number of labels, which takes the time of some rows. Other devices sort.

    Args:
        scores: [B, K] float32 or float64 without NaN.
        document: [P] rows of the positives.
        slot: [P] their columns in ``positives``.
        positives: [B, M] scores of the positives; the rest is infinity.

    Returns:
        [P] and [P] integers.
    """
    if scores.device.type == "cpu":
        worth = _positives_in_time_of_a_sort(scores.shape[1], torch.get_num_threads())
        if len(document) < len(scores) * worth:
            return _compared_rows(scores, document, positives[document, slot])
    ascending = _sorted_rows(scores)
    below, not_above = (
        torch.searchsorted(ascending, positives, right=right)[document, slot]
        for right in (False, True)
    )
    return below, not_above


def ties_before(scores: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Count the equal scores to the left of cells (row, column), [T], of scores [B, K]."""
    if scores.device.type == "cpu":
        values = scores.numpy()
        cells = zip(rows.tolist(), columns.tolist(), strict=True)
        found = [int(np.count_nonzero(values[i, :j] == values[i, j])) for i, j in cells]
        return torch.tensor(found, dtype=torch.long)
    return _compared(scores, rows, columns)


def _compared_rows(scores: Tensor, document: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Count by comparing rows with their positives, in as many threads as PyTorch has."""
    matrix, rows, limits = scores.numpy(), document.numpy(), values.numpy()
    counts = np.empty((2, len(rows)), np.int64)

    def fill(places: NDArray[Any]) -> None:
        for p in places.tolist():
            row, limit = matrix[rows[p]], limits[p]
            counts[0, p] = np.count_nonzero(row < limit)
            counts[1, p] = np.count_nonzero(row <= limit)

    _in_threads(fill, np.arange(len(rows)))
    below, not_above = torch.from_numpy(counts)
    return below, not_above


def _sorted_rows(scores: Tensor) -> Tensor:
    """Sort every row in ascending order; NumPy's sort is 20 times as fast as PyTorch's on a CPU."""
    if scores.device.type != "cpu":
        return scores.sort(dim=1).values
    ascending = np.array(scores.numpy(), order="C")
    _in_threads(lambda rows: rows.sort(axis=1), ascending)
    return torch.from_numpy(ascending)


def _in_threads(work: Callable[[NDArray[Any]], None], array: NDArray[Any]) -> None:
    blocks = np.array_split(array, torch.get_num_threads())
    if len(blocks) == 1:
        work(array)
        return
    with ThreadPoolExecutor(len(blocks)) as threads:
        list(threads.map(work, blocks))


@cache
def _positives_in_time_of_a_sort(columns: int, threads: int) -> float:
    """With how many positives each, rows are compared in the time in which they are sorted."""
    rows = torch.randn(threads, columns, generator=torch.Generator().manual_seed(0))
    document = torch.arange(threads).repeat_interleave(_EACH)
    limits = rows[document, 0]
    sorting = min(_seconds(lambda: _sorted_rows(rows)) for _ in range(_TRIALS))
    comparing = min(
        _seconds(lambda: _compared_rows(rows, document, limits)) for _ in range(_TRIALS)
    )
    return _EACH * sorting / comparing


def _seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def _compared(scores: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Count as `ties_before` does, without a loop over cells: what a GPU is good at."""
    place = torch.arange(scores.shape[1], device=scores.device)
    size = max(1, _COMPARED // len(place))
    counts = [rows[:0]]
    for row, column in zip(torch.split(rows, size), torch.split(columns, size), strict=True):
        equal = scores[row] == scores[row, column].unsqueeze(1)
        counts.append((equal & (place < column.unsqueeze(1))).sum(1))
    return torch.cat(counts)
