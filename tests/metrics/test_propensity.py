import math

import numpy as np
import pytest
import torch

from gile_lightning.metrics import inverse_propensities


def test_published_formula():
    """Equation 2 of Jain et al. (2016), p = 1 / (1 + C exp(-A log(N_l + B))), in NumPy."""
    frequencies, documents = np.array([900, 40, 6, 1, 0]), 1000
    c = (np.log(documents) - 1) * (1.5 + 1) ** 0.55
    propensities = 1 / (1 + c * np.exp(-0.55 * np.log(frequencies + 1.5)))
    found = inverse_propensities(frequencies.tolist(), documents)
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found.numpy(), 1 / propensities, rtol=1e-12)


def test_by_hand():
    # a label of one document has (N_l + B) = (B + 1): the inverse is log N, whatever A and B
    for a, b in ((0.55, 1.5), (0.5, 0.4), (0.6, 2.6)):
        assert inverse_propensities([1], 1000, a, b).item() == pytest.approx(math.log(1000))
    # for A = 1 the labels of 2 and 0 documents have 4 / 5 and 4 / 3 of what is above 1
    rest = math.log(1000) - 1
    found = inverse_propensities([2, 0], 1000, a=1, b=3)
    assert found.tolist() == pytest.approx([1 + rest * 4 / 5, 1 + rest * 4 / 3])


@pytest.mark.parametrize("documents", [1, 2])
def test_one_where_the_logarithm_is_below_one(documents):
    assert inverse_propensities([documents, 1, 0], documents).tolist() == [1, 1, 1]
