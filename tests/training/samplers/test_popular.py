import math
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

from gile_lightning.common.errors import InputError
from gile_lightning.training.samplers import PopularLabels
from gile_lightning.training.samplers.popular import draw_systematic, inclusion

FREQUENCIES = torch.tensor([900, 80, 60, 60, 31, 12, 7, 7, 3, 2, 1, 1])


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("exponent", [0, 0.5, 0.75, 1])
@pytest.mark.parametrize("count", [1, 2, 5, 11, 12])
def test_probabilities_are_those_of_the_root(exponent, count):
    weights = FREQUENCIES.numpy() ** float(exponent)

    def excess(c):
        return np.minimum(1, c * weights).sum() - count

    # at the upper end everything is certain
    expected = np.minimum(1, brentq(excess, 0, 1 + 1 / weights.min(), xtol=1e-15) * weights)
    found = inclusion(FREQUENCIES.double().pow(exponent), count)
    assert found.max() <= 1
    np.testing.assert_allclose(found, expected if count < 12 else 1, rtol=1e-9)


@pytest.mark.parametrize(("rate", "count"), [(0.1, 1), (0.25, 3), (0.5, 6), (1, 12)])
@pytest.mark.parametrize("exponent", [0, 0.75, 1])
def test_labels_are_drawn_as_often_as_stated(exponent, rate, count):
    sampler, repeats = PopularLabels(rate, exponent=exponent), 1_000
    counts = torch.zeros(12)
    for seed in range(repeats):
        drawn, probabilities = sampler.draw(count, FREQUENCIES, generator(seed))
        assert len(drawn.unique()) == count
        counts[drawn] += 1
    deviations = (probabilities * (1 - probabilities) / repeats).sqrt()
    assert (counts / repeats - probabilities).abs().le(5 * deviations + 1e-9).all()


def test_equal_probabilities_give_all_pairs_equally_often():
    pairs = dict.fromkeys(combinations(range(5), 2), 0)
    for seed in range(2_000):
        drawn = draw_systematic(torch.full((5,), 0.4).double(), 2, generator(seed))
        pairs[tuple(sorted(drawn.tolist()))] += 1
    expected = 200
    chi_square = sum((n - expected) ** 2 / expected for n in pairs.values())
    assert chi_square < 9 + 5 * math.sqrt(18)


@pytest.mark.parametrize(("start", "drawn"), [(0, [0, 2]), (0.5, [1, 3]), (0.9999, [2, 3])])
def test_ends_of_the_labels(monkeypatch, start, drawn):
    """A label has the place where it begins, not that where it ends.

    Of a line that is rounded down to 1.996 the last label also has what is beyond, 1.9999.
    """
    monkeypatch.setattr(torch, "rand", lambda *shape, **_: torch.full(shape, start).double())
    monkeypatch.setattr(torch, "randperm", lambda count, **_: torch.arange(count))
    each = 0.499 if start > 0.5 else 0.5
    found = draw_systematic(torch.full((4,), each).double(), 2, generator())
    assert found.tolist() == drawn


@pytest.mark.parametrize("exponent", [0.5, 0.75])
def test_all_labels_are_certain(exponent):
    """Exactly, where a quotient is rounded to a number below 1."""
    for count in range(1, 13):
        weights = FREQUENCIES[:count].double().pow(exponent)
        assert inclusion(weights, count).tolist() == [1] * count


@pytest.mark.parametrize("exponent", [-0.1, 1.5])
def test_exponent_out_of_range(exponent):
    with pytest.raises(InputError, match=f"exponent is {exponent}: .* from 0 .* to 1"):
        PopularLabels(exponent=exponent)
