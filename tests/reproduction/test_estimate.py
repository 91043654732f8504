"""Estimates of what fits will take."""

import pytest

from gile_lightning.reproduction.estimate import estimate
from gile_lightning.reproduction.grid import Fit, Row

SLOW, FAST = Row("slow", seconds=100), Row("fast", seconds=10)
FITS = [
    Fit("", row, "", seed, 1, (), f"{row.name}-{seed}") for row in (SLOW, FAST) for seed in (1, 2)
]


def test_what_the_rows_state_before_a_fit_is_done():
    expected, measured = estimate(FITS, {})
    assert expected == {"slow-1": 100, "slow-2": 100, "fast-1": 10, "fast-2": 10}
    assert not measured


def test_the_row_itself_else_the_pace_of_the_others():
    expected, measured = estimate(FITS, {"fast-1": 30})
    assert expected == pytest.approx({"slow-1": 300, "slow-2": 300, "fast-1": 30, "fast-2": 30})
    assert measured
    expected, _ = estimate(FITS, {"fast-1": 30, "slow-1": 80})
    assert expected == pytest.approx({"slow-1": 80, "slow-2": 80, "fast-1": 30, "fast-2": 30})
