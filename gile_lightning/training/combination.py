"""Two scores of a pair as one probability: logistic regression on validation documents."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.training.logistic import fit_logistic

_LEAST = 0.0  # of the weights: no score counts against a label
_MOST = 30.0  # of the first stage's log-odds, which may be infinite: beyond is as sure as it gets


class Combination(NamedTuple):
    """``intercept`` + ``first`` · x + ``second`` · s, the log-odds that a label is right.

    x is the logit or log-odds of the first stage, from -30 to 30, s the score of the second.
    Without a document to fit it to, the first stage stays as it is.
    """

    intercept: float = 0.0
    first: float = 1.0
    second: float = 0.0

    def __call__(self, log_odds: Tensor, scores: Tensor) -> Tensor:
        """Return the combined log-odds, of the same shape as both."""
        bounded = log_odds.clip(-_MOST, _MOST)
        return self.intercept + self.first * bounded + self.second * scores


def fit_combination(
    log_odds: NDArray[Any], scores: NDArray[Any], correct: NDArray[np.bool_]
) -> Combination:
    """Fit the weights to pairs of validation documents and labels.

    They have the highest likelihood. A small penalty, Σ (weight - start)² / 2, holds them at the
    first stage's log-odds where few pairs speak. No weight is below 0.

    Args:
        log_odds: [N] of the first stage.
        scores: [N] of the second stage.
        correct: [N] whether the label is right.
    """
    bounded = np.clip(log_odds, -_MOST, _MOST)
    features = np.stack([np.ones(len(scores)), bounded, scores], 1).astype(np.float64)
    return Combination(*fit_logistic(features, correct, Combination(), [None, _LEAST, _LEAST]))
