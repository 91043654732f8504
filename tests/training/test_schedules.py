import lightning
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.systems import NeuralSystem
from gile_lightning.training.schedules import Schedule, WarmupDecay
from gile_testing.two_languages import PARTS, TwoLanguages, languages


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
    # from 1 at 0.5, a seventh of 3.5, to 0.6 at 3.5, in a straight line
    schedule = WarmupDecay(warmup=1 / 7, epochs=3.5, end=0.6)
    assert schedule(epoch, last=100) == pytest.approx(factor)


def test_ends_with_training():
    schedule = WarmupDecay(warmup=0)
    assert schedule(0, last=4) == 1
    assert schedule(3, last=4) == pytest.approx(0.25)
    assert schedule(4, last=4) == 0


@pytest.mark.parametrize(
    "wrong",
    [{"warmup": -0.1}, {"warmup": 1}, {"warmup": 1.5}, {"end": 2}, {"end": -0.1}, {"epochs": 0}],
)
def test_refused(wrong):
    with pytest.raises(InputError):
        WarmupDecay(**wrong)


def test_a_schedule_has_a_factor():
    class Constant(Schedule):
        def __call__(self, epoch, last):
            return 0.5

    Constant().check(last=-1)  # by default every length fits
    with pytest.raises(TypeError, match="abstract"):
        Schedule()


def test_a_training_without_end_is_refused():
    with pytest.raises(InputError, match="no end: set --trainer"):
        NeuralSystem(schedule=WarmupDecay(0.5)).check(epochs=-1)


pytestmark = pytest.mark.filterwarnings("ignore:.*does not have many workers")


class Rates(lightning.Callback):
    def __init__(self):
        self.rates = []

    def on_train_batch_end(self, trainer, *_):
        self.rates.append(trainer.optimizers[0].param_groups[0]["lr"])


def rates_of(schedule, **length):
    """Return the learning rates of a training, and the first one of its optimizer."""
    model = NeuralSystem(**PARTS | {"schedule": schedule})
    rates = Rates()
    trainer = lightning.Trainer(
        **length,
        accelerator="cpu",
        logger=False,
        callbacks=[rates],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    trainer.fit(model, TwoLanguages({"english": languages()["english"]}))
    lr = model.optimizer_factory([torch.nn.Parameter(torch.zeros(1))]).param_groups[0]["lr"]
    return rates.rates, lr


def test_the_rate_follows_the_place_in_training():
    schedule = WarmupDecay(warmup=0.5, epochs=4)
    rates, lr = rates_of(schedule, max_epochs=3)
    batches = len(rates) // 3
    expected = [lr * schedule((step + 1) / batches, last=0) for step in range(3 * batches)]
    assert rates == pytest.approx(expected)
    assert rates[2 * batches - 1] == pytest.approx(lr)
    assert rates[-1] == pytest.approx(lr / 2)


@pytest.mark.parametrize("epochs", [-1, 9])
def test_the_rate_falls_until_the_last_of_a_number_of_steps(epochs):
    rates, lr = rates_of(WarmupDecay(warmup=0), max_epochs=epochs, max_steps=5)
    assert rates == pytest.approx([lr * left / 5 for left in (4, 3, 2, 1, 0)])
