"""Propensity-scored precision: rare labels, which annotators miss most often, count more."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from gile_lightning.metrics.ranks import Ranks


def inverse_propensities(
    frequencies: Sequence[int], documents: int, a: float = 0.55, b: float = 1.5
) -> Tensor:
    """Return 1 / p_l = 1 + C (N_l + b)^-a for every label, with C = (log N - 1) (b + 1)^a.

    The propensity p_l is the probability that an annotator records the label where it applies,
    after Jain, Prabhu & Varma (2016, KDD, equation 2). The logarithm is natural; a and b are the
    paper's for most data sets.

    Args:
        frequencies: N_l, training documents per label; 0 for an unseen label.
        documents: N, training documents, at least 1. C is at least 0; the formula is negative for
            one or two documents. Every propensity is then 1.
        a: exponent of the frequency.
        b: added to the frequency.

    Returns:
        [K] float64, at least 1.
    """
    factor = max(math.log(documents) - 1, 0) * (b + 1) ** a
    counts = torch.tensor(frequencies, dtype=torch.float64)
    inverse: Tensor = 1 + factor * (counts + b) ** -a
    return inverse


def propensity_scored_at(
    ranks: Ranks, k: int, inverse_propensities: Tensor
) -> tuple[Tensor, Tensor]:
    """Return k times the propensity-scored precision@k, and k times the best attainable one.

    The first is the sum of 1 / p_l over the positives l among the k best columns (Jain, Prabhu &
    Varma, 2016, KDD, Table 2), the second that of the min(k, positives) least propensities. Their
    means over documents give PSP@k as one quotient, as reported for the data sets of the extreme
    classification repository.

    Args:
        ranks: of B documents and K labels.
        k: at least 1.
        inverse_propensities: [K] float64, 1 / p_l of the columns.

    Returns:
        Two sums per document, [B] float64, 0 (not NaN) for a document without a positive.
    """
    gains = inverse_propensities[ranks.label_ids]
    order, place = ranks.sorted(-gains)
    best = gains[order] * (place < k)
    return ranks.total(gains * ranks.within(k)), ranks.total(best)
