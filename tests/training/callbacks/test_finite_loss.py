from types import SimpleNamespace

import pytest
import torch

from gile_lightning.common.errors import DivergedError
from gile_lightning.training.callbacks import FiniteLoss


class Steps:
    """A trainer of one process that takes steps with given losses; counts the checks."""

    def __init__(self, callback):
        self.callback, self.global_step, self.checks = callback, 0, 0
        self.strategy = SimpleNamespace(reduce=self._reduce)

    def _reduce(self, tensor, reduce_op):
        assert reduce_op == "min"
        self.checks += 1
        return tensor

    def take(self, *losses):
        for loss in losses:
            self.global_step += 1
            outputs = {"loss": torch.tensor(loss)}
            self.callback.on_train_batch_end(self, None, outputs, None, self.global_step - 1)


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), -float("inf")])
def test_losses_are_checked_every_so_many_steps(loss):
    trainer = Steps(FiniteLoss(every_n_train_steps=4))
    trainer.take(0.5, 0.5, 0.5, 0.5, 0.5, loss, loss)
    assert trainer.checks == 1
    with pytest.raises(DivergedError, match="the loss of step 6 is not finite: training diverged"):
        trainer.take(0.5)
    assert trainer.checks == 2


def test_every_fifty_steps_by_default():
    trainer = Steps(FiniteLoss())
    trainer.take(*[0.5] * 49)
    assert trainer.checks == 0
    trainer.take(0.5)
    assert trainer.checks == 1


def test_losses_are_checked_before_a_checkpoint_and_at_the_end_of_an_epoch():
    module = torch.nn.Linear(2, 1)
    for hook in ("on_save_checkpoint", "on_train_epoch_end"):
        trainer = Steps(FiniteLoss())
        arguments = (trainer, module, {})[: 3 if hook == "on_save_checkpoint" else 2]
        getattr(trainer.callback, hook)(*arguments)
        trainer.take(0.5, 0.5)
        getattr(trainer.callback, hook)(*arguments)
        trainer.take(0.5, float("nan"), 0.5)
        with pytest.raises(DivergedError, match=r"the loss of step 4 is not finite"):
            getattr(trainer.callback, hook)(*arguments)


def test_weights_are_checked_before_a_checkpoint():
    """The step whose loss was the last finite one may have broken them."""
    module = torch.nn.Linear(2, 1)
    trainer = Steps(FiniteLoss())
    trainer.take(0.5, 0.5)
    trainer.callback.on_save_checkpoint(trainer, module, {})
    with torch.no_grad():
        module.weight[0, 1] = torch.inf
    with pytest.raises(
        DivergedError, match=r"weights are not finite after step 2: .*gradient_clip"
    ):
        trainer.callback.on_save_checkpoint(trainer, module, {})


def test_systems_without_a_loss():
    callback = FiniteLoss(every_n_train_steps=1)
    callback.on_train_batch_end(None, None, None, None, 0)
    callback.on_train_batch_end(None, None, {}, None, 1)
    callback.on_train_epoch_end(None, None)
