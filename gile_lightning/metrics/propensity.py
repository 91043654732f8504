"""How likely a label is recorded where it applies, from its training frequency."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def inverse_propensities(
    frequencies: Sequence[int], documents: int, a: float = 0.55, b: float = 1.5
) -> Tensor:
    """Return 1 / p_l = 1 + C (N_l + b)^-a for every label, with C = (log N - 1) (b + 1)^a.

    The propensity p_l is the probability that an annotator records the label where it applies,
    after Jain, Prabhu & Varma (2016, KDD, equation 2); rare labels are the likeliest to be missed,
    so finding one counts more. The logarithm is natural; a and b are the paper's for most data
    sets.

    Args:
        frequencies: N_l, training documents per label; 0 for an unseen label.
        documents: N, training documents, at least 1. C is not taken below 0, as it would be for
            one or two: every propensity is then 1.
        a: Exponent of the frequency.
        b: Added to the frequency.

    Returns:
        [K] float64, at least 1.
    """
    factor = max(math.log(documents) - 1, 0) * (b + 1) ** a
    counts = torch.tensor(frequencies, dtype=torch.float64)
    inverse: Tensor = 1 + factor * (counts + b) ** -a
    return inverse
