"""How far probabilities are from the shares of labels that are right."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gile_lightning.metrics.best_pairs import Pairs

BINS = 15
BEST = 10  # labels of a document whose probabilities are judged


class Reliability(NamedTuple):
    """Pairs of a document and a label in bins of equal size, by rising probability.

    Shapes [bins], without those that are empty: ``predicted`` the mean probability, ``correct`` the
    share of the pairs that are right, ``pairs`` their number.
    """

    predicted: NDArray[np.float64]
    correct: NDArray[np.float64]
    pairs: NDArray[np.int64]

    @property
    def error(self) -> float:
        """The expected calibration error; NaN without a pair.

        It is Σ_b (n_b / n) |mean probability - share of right pairs| over the bins b, here of
        equal mass (Naeini et al., 2015; Nixon et al., 2019, "adaptive").
        """
        if not self.pairs.sum():
            return float("nan")
        return float(np.average(np.abs(self.predicted - self.correct), weights=self.pairs))


def reliability(probabilities: ArrayLike, correct: ArrayLike, bins: int = BINS) -> Reliability:
    """Put pairs into bins of equal size by their probability.

    Pairs of the same probability that fall into two bins are spread by whether they are right,
    wrong ones first, so that the result does not depend on their order.

    Args:
        probabilities: [N] of pairs.
        correct: [N], whether they are right.
        bins: at most so many; their sizes differ by 1 at most.

    Example:
        >>> found = reliability([0.9, 0.1, 0.2, 0.8], [True, False, True, True], bins=2)
        >>> found.predicted.round(2).tolist(), found.correct.tolist(), round(found.error, 2)
        ([0.15, 0.85], [0.5, 1.0], 0.25)
    """
    values, right = np.asarray(probabilities, np.float64), np.asarray(correct, np.float64)
    order = np.lexsort((right, values))
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return Reliability(
        np.array([values[part].mean() for part in parts]),
        np.array([right[part].mean() for part in parts]),
        np.array([len(part) for part in parts], np.int64),
    )


def reliability_of_best(pairs: Pairs) -> Reliability:
    """Return the reliability of the ten best labels of every document, pooled.

    Documents that have none of the candidates are left out, as in the ranking metrics.
    """
    from scipy.special import (
        expit,
    )  # here, as in all modules that commands import: it takes a while

    best = pairs.best(BEST)
    return reliability(expit(best.log_odds).ravel(), best.correct.ravel())
