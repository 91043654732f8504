"""Whether two systems differ by more than the choice of test documents explains."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

_CHUNK = 1_000_000  # numbers that are drawn at a time


class Interval(NamedTuple):
    """A mean difference, its 95 % interval, and the share ``p`` of chance that explains it."""

    mean: float
    low: float
    high: float
    p: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    @property
    def percent(self) -> "Interval":
        """The same interval in points of a hundred."""
        return Interval(100 * self.mean, 100 * self.low, 100 * self.high, self.p)


class Pair(NamedTuple):
    """The runs of two systems on the same N documents.

    A figure of a run is the sum of the first numbers of all documents over that of the second; see
    `gile_lightning.metrics.document_scores.Terms`.

    Attributes:
        first: [N, 2] of each run of one system.
        second: [N, 2] of each run of the other one.
        drawn: pairs with the same number, and as many documents, have the same draws.
    """

    first: Sequence[Tensor]
    second: Sequence[Tensor]
    drawn: int = 0


def paired_bootstrap(pairs: Sequence[Pair], resamples: int = 10_000, seed: int = 1234) -> Interval:
    """Return by how much the figures of the second systems are higher, and its interval.

    Documents are drawn with replacement, as many as there are that count in a run; all runs of a
    pair are scored on the same draw (Efron and Tibshirani, 1993, chapter 13; Koehn, 2004). Each
    draw has a difference: the mean over pairs of the mean figure of the second runs less that of
    the first. The interval has the 2.5 and the 97.5 percentile of the differences. p is two-sided:
    twice the smaller share of them that are not above, or not below, 0. Its least value is
    2 / (resamples + 1). Draws without a document that counts in some run are left out.

    Args:
        pairs: one, or several such as languages or corpora.
        resamples: draws of N documents.
        seed: of the draws.

    Raises:
        ValueError: there is no document that counts, or the runs have different ones.
    """
    if not pairs:
        raise ValueError("there is no pair")
    whole, drawn = 0.0, np.zeros(resamples)
    for pair in pairs:
        runs = [terms.detach().cpu().double().numpy() for terms in (*pair.first, *pair.second)]
        if len({run.shape for run in runs}) > 1 or runs[0].shape[1:] != (2,):
            shapes = " and ".join(str(list(run.shape)) for run in runs)
            raise ValueError(f"the runs of a pair must be of the same documents, not {shapes}")
        if not all(run[:, 1].any() for run in runs) or np.isnan(runs).any():
            raise ValueError("the terms must be numbers, of one document at least that counts")
        counting = np.any([run[:, 1] > 0 for run in runs], 0)
        weights = np.repeat([-1 / len(pair.first), 1 / len(pair.second)], list(map(len, pair[:2])))
        terms = np.stack([run[counting] for run in runs], 1).reshape(int(counting.sum()), -1)
        whole += (_figures(terms.sum(0)[None]) @ weights).item() / len(pairs)
        start, random = 0, np.random.default_rng((seed, pair.drawn))
        each = max(1, _CHUNK // len(terms))
        while start < resamples:
            size = min(each, resamples - start)
            sums = _draws(random, size, len(terms)) @ terms
            drawn[start : start + size] += _figures(sums) @ weights / len(pairs)
            start += size
    drawn = drawn[~np.isnan(drawn)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    tail = 1 + min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    return Interval(whole, float(low), float(high), min(1.0, 2 * tail / (len(drawn) + 1)))


def _draws(random: np.random.Generator, draws: int, documents: int) -> NDArray[np.float64]:
    """Return how often each document is in each draw: [draws, documents]."""
    found = random.integers(documents, size=(draws, documents))
    found += documents * np.arange(draws)[:, None]
    counts = np.bincount(found.ravel(), minlength=draws * documents)
    return counts.reshape(draws, documents).astype(np.float64)


def _figures(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide the sums [D, 2 * runs]: [D, runs], NaN without a document that counts."""
    with np.errstate(invalid="ignore"):
        figures: NDArray[np.float64] = sums[:, ::2] / sums[:, 1::2]
    return figures
