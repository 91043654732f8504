"""The paired bootstrap, against SciPy's."""

import numpy as np
import pytest
import torch
from scipy.stats import bootstrap

from gile_lightning.metrics.bootstrap import Interval, paired_bootstrap


@pytest.fixture
def values():
    return torch.randn(300, generator=torch.Generator().manual_seed(1)).double() + 0.1


def test_the_interval_is_that_of_scipy(values):
    found = paired_bootstrap(values, resamples=20_000)
    made = bootstrap(
        (values.numpy(),), np.mean, n_resamples=20_000, method="percentile", rng=7
    ).confidence_interval
    error = 0.05 * float(values.std()) / 300**0.5  # of percentiles of 20,000 draws, four times over
    assert found.mean == pytest.approx(float(values.mean()))
    assert [found.low, found.high] == pytest.approx([made.low, made.high], abs=2 * error)
    assert found == paired_bootstrap(values, resamples=20_000)


def test_p_is_the_share_of_means_beyond_0():
    """Of four draws of -1 and 3 the mean is 0 or less only if three or four of them are -1."""
    found = paired_bootstrap(torch.tensor([-1.0, 3.0, -1.0, 3.0]), resamples=50_000)
    assert found.p == pytest.approx(2 * 5 / 16, abs=0.02)
    assert not found.clear


def test_a_difference_that_all_documents_have_is_clear():
    found = paired_bootstrap(torch.full((10,), -2.0), resamples=999)
    assert found == (-2.0, -2.0, -2.0, 2 / 1000)
    assert found.clear


def test_no_difference_at_all_has_the_largest_p():
    """Every mean is 0, neither above nor below: the one drawn, and the one that counts anyway."""
    assert paired_bootstrap(torch.zeros(3), resamples=1) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("low", "high", "clear"),
    [(-0.2, 0.5, False), (0.0, 0.5, False), (-0.5, 0.0, False), (0.1, 2.0, True), (-2, -0.1, True)],
)
def test_clear_intervals_leave_out_0(low, high, clear):
    assert Interval(0.0, low, high, 1.0).clear is clear


def test_ten_thousand_draws_by_default():
    assert paired_bootstrap(torch.full((3,), 2.0)).p == 2 / 10_001


@pytest.mark.parametrize("values", [[], [0.0, float("nan")], [[1.0]]])
def test_what_is_refused(values):
    with pytest.raises(ValueError, match="must be numbers"):
        paired_bootstrap(torch.tensor(values))
