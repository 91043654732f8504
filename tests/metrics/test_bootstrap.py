"""The paired bootstrap, against SciPy's."""

import numpy as np
import pytest
import torch
from scipy.stats import bootstrap

from gile_lightning.metrics.bootstrap import Interval, Pair, paired_bootstrap


def mean_of(values):
    """The terms of a mean, and those of a mean of zeros."""
    values = torch.as_tensor(values, dtype=torch.double)
    ones = torch.ones_like(values)
    return Pair([torch.stack([0 * ones, ones], 1)], [torch.stack([values, ones], 1)])


@pytest.fixture
def values():
    return torch.randn(300, generator=torch.Generator().manual_seed(1)).double() + 0.1


def test_the_interval_is_that_of_scipy(values):
    found = paired_bootstrap([mean_of(values)], resamples=20_000)
    made = bootstrap(
        (values.numpy(),), np.mean, n_resamples=20_000, method="percentile", rng=7
    ).confidence_interval
    error = 0.05 * float(values.std()) / 300**0.5  # of percentiles of 20,000 draws, four times over
    assert found.mean == pytest.approx(float(values.mean()))
    assert [found.low, found.high] == pytest.approx([made.low, made.high], abs=2 * error)
    assert found == paired_bootstrap([mean_of(values)], resamples=20_000)


def test_quotients_of_sums_are_those_of_scipy():
    """Micro-F1 of three runs beside that of one, on 200 documents."""
    draws = torch.Generator().manual_seed(2)
    labels = torch.randint(1, 9, (200,), generator=draws)

    def run():
        predicted = torch.randint(0, 9, (200,), generator=draws)
        right = (torch.minimum(labels, predicted) * torch.rand(200, generator=draws)).round()
        return torch.stack([2 * right, predicted + labels], 1).double()

    one, others = run(), [run(), run(), run()]
    found = paired_bootstrap([Pair([one], others)])

    def difference(rows):
        figures = [float(x[rows, 0].sum() / x[rows, 1].sum()) for x in (one, *others)]
        return np.mean(figures[1:]) - figures[0]

    made = bootstrap(
        (np.arange(200),),
        difference,
        n_resamples=4_000,
        method="percentile",
        vectorized=False,
        rng=7,
    ).confidence_interval
    assert found.mean == pytest.approx(difference(slice(None)))
    assert [found.low, found.high] == pytest.approx([made.low, made.high], abs=0.002)
    assert found.high - found.low > 0.03


def test_several_pairs_have_their_mean(values):
    """Of independent pairs the deviation of the mean is smaller by the root of their number."""
    one = paired_bootstrap([mean_of(values)])
    four = paired_bootstrap([mean_of(values)._replace(drawn=i) for i in range(4)])
    assert four.mean == pytest.approx(one.mean)
    assert four.high - four.low == pytest.approx((one.high - one.low) / 2, rel=0.05)
    same = paired_bootstrap([mean_of(values)] * 4)
    assert same == pytest.approx(one)


def test_documents_that_do_not_count():
    pair = mean_of([1.0, 2.0, 9.0])
    for terms in (*pair.first, *pair.second):
        terms[2] = 0
    found = paired_bootstrap([pair], resamples=5_000)
    assert (found.mean, found.low, found.high) == pytest.approx((1.5, 1.0, 2.0))


def test_p_is_the_share_of_means_beyond_0():
    """Of four draws of -1 and 3 the mean is 0 or less only if three or four of them are -1."""
    found = paired_bootstrap([mean_of([-1.0, 3.0, -1.0, 3.0])], resamples=50_000)
    assert found.p == pytest.approx(2 * 5 / 16, abs=0.02)
    assert not found.clear


def test_a_difference_that_all_documents_have_is_clear():
    found = paired_bootstrap([mean_of([-2.0] * 10)], resamples=999)
    assert found == (-2.0, -2.0, -2.0, 2 / 1000)
    assert found.clear


def test_no_difference_at_all_has_the_largest_p():
    """Every mean is 0, neither above nor below: the one drawn, and the one that counts anyway."""
    assert paired_bootstrap([mean_of([0.0] * 3)], resamples=1) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("low", "high", "clear"),
    [(-0.2, 0.5, False), (0.0, 0.5, False), (-0.5, 0.0, False), (0.1, 2.0, True), (-2, -0.1, True)],
)
def test_clear_intervals_leave_out_0(low, high, clear):
    assert Interval(0.0, low, high, 1.0).clear is clear


def test_ten_thousand_draws_by_default():
    assert paired_bootstrap([mean_of([2.0] * 3)]).p == 2 / 10_001


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "no pair"),
        ([mean_of([])], "one document at least"),
        ([mean_of([0.0, float("nan")])], "must be numbers"),
        ([Pair([torch.zeros(3, 2)], [torch.zeros(3, 2)])], "one document at least"),
        ([Pair([torch.ones(3, 2)], [torch.ones(4, 2)])], "the same documents"),
        ([Pair([torch.ones(3)[:, None]], [torch.ones(3)[:, None]])], "the same documents"),
        ([Pair([torch.ones(3, 2)], [torch.zeros(3, 2)])], "one document at least"),
    ],
)
def test_what_is_refused(pairs, message):
    with pytest.raises(ValueError, match=message):
        paired_bootstrap(pairs)
