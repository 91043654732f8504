"""Estimates of what fits will take."""

import pytest

from gile_lightning.reproduction.estimate import estimate
from gile_lightning.reproduction.grid import Fit, Row

SLOW, FAST = Row("slow", seconds=100), Row("fast", seconds=10)
FITS = [
    Fit("", row, "", seed, 1, (), f"{row.name}-{seed}") for row in (SLOW, FAST) for seed in (1, 2)
]


@pytest.mark.parametrize(
    ("done", "slow", "fast"),
    [({}, 100, 10), ({"fast-1": 30}, 300, 30), ({"fast-1": 30, "slow-1": 80}, 80, 30)],
)
def test_the_row_itself_else_the_pace_of_the_others(done, slow, fast):
    expected, measured = estimate(FITS, done)
    times = {"slow-1": slow, "slow-2": slow, "fast-1": fast, "fast-2": fast}
    assert expected == pytest.approx(times)
    assert measured == bool(done)
