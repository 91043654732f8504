"""Whether two systems differ by more than the choice of test documents explains."""

from typing import NamedTuple

import numpy as np
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


def paired_bootstrap(differences: Tensor, resamples: int = 10_000, seed: int = 1234) -> Interval:
    """Return the mean of paired differences and its bootstrap interval.

    Documents are drawn with replacement, as many as there are; both systems are scored on the same
    draw (Efron and Tibshirani, 1993, chapter 13; Koehn, 2004). The interval has the 2.5 and the
    97.5 percentile of the means. p is two-sided: twice the smaller share of means that are not
    above, or not below, 0. Its least value is 2 / (resamples + 1).

    Args:
        differences: [N] of one metric, a number per document.
        resamples: draws of N documents.
        seed: of the draws.

    Raises:
        ValueError: there is no document, or a difference is not a number.
    """
    values = differences.detach().cpu().double().numpy()
    if values.ndim != 1 or not len(values) or np.isnan(values).any():
        raise ValueError(f"differences must be numbers [N], one at least, not {differences.shape}")
    random = np.random.default_rng(seed)
    each = max(1, _CHUNK // len(values))
    means = np.concatenate(
        [
            values[
                random.integers(len(values), size=(min(each, resamples - start), len(values)))
            ].mean(axis=1)
            for start in range(0, resamples, each)
        ]
    )
    low, high = np.percentile(means, [2.5, 97.5])
    tail = 1 + min(int((means <= 0).sum()), int((means >= 0).sum()))
    p = min(1.0, 2 * tail / (resamples + 1))
    return Interval(float(values.mean()), float(low), float(high), p)
