"""Logistic regression on few pairs, held at a starting point."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fit_logistic(
    features: NDArray[np.float64],
    correct: NDArray[np.bool_],
    start: Sequence[float],
    least: Sequence[float | None],
) -> list[float]:
    """Return the weights w that minimize Σ log(1 + exp(x·w)) - y x·w + |w - start|² / 2.

    Args:
        features: [N, F] x of each pair.
        correct: [N] y, whether it is right.
        start: [F] where the weights stay as far as few pairs speak.
        least: [F] the least value of each weight, if there is one.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    y, origin = correct.astype(np.float64), np.array(start)

    def loss(weights: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        logits, moved = features @ weights, weights - origin
        gradient = features.T @ (expit(logits) - y) + moved
        return float(np.sum(np.logaddexp(0, logits) - y * logits) + moved @ moved / 2), gradient

    bounds = [(value, None) for value in least]
    tight = {"ftol": 1e-14, "gtol": 1e-9}
    found = minimize(loss, origin, jac=True, method="L-BFGS-B", bounds=bounds, options=tight)
    return [float(weight) for weight in found.x]
