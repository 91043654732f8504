import pytest

from gile_lightning.errors import InputError
from gile_lightning.schedules import WarmupDecay


@pytest.mark.parametrize(
    ("epoch", "factor"),
    [
        (0.0, 0.0),
        (0.25, 0.5),
        (0.5, 1.0),
        (1.5, 0.6 + 0.4 * 2 / 3),
        (2.0, 0.8),
        (3.5, 0.6),
        (9, 0.6),
    ],
)
def test_rises_then_falls(epoch, factor):
    # from 1 at 0.5 to 0.6 at 3.5, in a straight line
    schedule = WarmupDecay(warmup=0.5, epochs=3.5, end=0.6)
    assert schedule(epoch, last=100) == pytest.approx(factor)


def test_ends_with_training():
    schedule = WarmupDecay(warmup=0)
    assert schedule(0, last=4) == 1
    assert schedule(3, last=4) == pytest.approx(0.25)
    assert schedule(4, last=4) == 0


@pytest.mark.parametrize("wrong", [{"warmup": -1}, {"end": 2}, {"end": -0.1}, {"epochs": 0}])
def test_refused(wrong):
    with pytest.raises(InputError):
        WarmupDecay(**wrong)
