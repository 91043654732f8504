"""What a trial reports, and why a fit failed, in a line."""

from types import SimpleNamespace

import optuna
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.search.trial import Report, reason


def test_epochs_without_a_validation_are_not_reported():
    """The trainer keeps the scores of the last one."""
    trial = optuna.create_study().ask()
    report = Report("val/f1", trial)
    trainer = SimpleNamespace(
        callback_metrics={"val/f1": torch.tensor(0.5)},
        strategy=SimpleNamespace(broadcast=lambda value: value),
        sanity_checking=True,
        current_epoch=0,
    )
    report.on_validation_end(trainer, None)
    for epoch in range(5):
        trainer.current_epoch, trainer.sanity_checking = epoch, False
        if epoch % 2:
            report.on_validation_end(trainer, None)
        report.on_train_epoch_end(trainer, None)
    frozen = trial.storage.get_trial(trial._trial_id)
    assert frozen.intermediate_values == {1: 0.5, 3: 0.5}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InputError("the loss\nis no number"), "the loss is no number"),
        (torch.OutOfMemoryError("CUDA out of memory"), "out of memory: CUDA out of memory"),
        (MemoryError(), "out of memory: MemoryError"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (SystemExit(2), "ended with status 2"),
    ],
)
def test_reason(error, expected):
    assert reason(error) == expected


def test_no_memory_on_the_cpu():
    with pytest.raises(RuntimeError) as error:
        torch.empty(2**60)
    assert reason(error.value).startswith("out of memory: ")
