import math

import numpy as np
import pytest
import torch

from gile_lightning.metrics.best_pairs import DEPTH, BestPairs
from gile_lightning.metrics.calibration import reliability, reliability_of_best


def by_hand(probabilities, correct, bins):
    """The expected calibration error, pair by pair."""
    pairs = sorted(zip(probabilities, correct, strict=True))
    sizes = [len(pairs) // bins + (i < len(pairs) % bins) for i in range(bins)]
    error = start = 0
    for size in sizes:
        part = pairs[start : start + size]
        start += size
        error += abs(sum(p for p, _ in part) - sum(y for _, y in part)) / len(pairs)
    return error


@pytest.mark.parametrize(("count", "bins"), [(200, 15), (7, 15), (31, 4)])
def test_error_is_the_mean_gap_of_bins_of_equal_size(count, bins):
    rng = np.random.default_rng(count)
    probabilities = rng.random(count).round(1)  # with ties
    correct = rng.random(count) < probabilities**2
    found = reliability(probabilities, correct, bins)
    assert found.error == pytest.approx(by_hand(probabilities, correct, bins))
    order = rng.permutation(count)
    assert reliability(probabilities[order], correct[order], bins).error == found.error


def test_no_pair_has_no_error():
    assert math.isnan(reliability([], []).error)


def test_the_ten_best_of_documents_that_have_a_candidate_are_judged():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(40, 30, generator=generator)
    targets = torch.rand(40, 30, generator=generator) < 0.04
    shifted = logits + torch.linspace(-2, 2, 30)  # another order
    best = BestPairs(0, 18), BestPairs(18, 30)
    for rows in torch.arange(40).split(7):
        ids = targets[rows].nonzero()[:, 1]
        for some in best:
            some.update(logits[rows], shifted[rows], ids, targets[rows].sum(1))
    for some, columns in zip(best, (slice(0, 18), slice(18, 30)), strict=True):
        probabilities, correct = [], []
        for document in range(40):
            if targets[document, columns].any():
                for label in logits[document, columns].argsort(descending=True)[:10]:
                    probabilities.append(shifted[document, columns][label].sigmoid().item())
                    correct.append(targets[document, columns][label].item())
        expected = by_hand(probabilities, correct, 15)
        assert reliability_of_best(some.compute()).error == pytest.approx(expected, abs=1e-7)
    assert best[0].compute().labels.shape == (40, min(DEPTH, 18))
    assert best[0].compute().positives.sum() == targets[:, :18].sum()
