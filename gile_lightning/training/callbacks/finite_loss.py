"""The end of a training that has diverged."""

from collections.abc import Mapping
from typing import Any

import lightning
import torch
from torch import Tensor

from gile_lightning.common.errors import DivergedError

_NEVER = torch.iinfo(torch.long).max


class FiniteLoss(lightning.Callback):
    """Ends training, on all processes, when a loss is infinite or not a number.

    Reading a loss makes a GPU wait. So losses are checked together: every so many batches, at the
    end of an epoch, and before a checkpoint is written. Weights are checked before a checkpoint
    too, so that a broken model overwrites none.

    Args:
        every_n_train_steps: batches between two checks.
    """

    def __init__(self, every_n_train_steps: int = 50) -> None:
        self.every_n_train_steps = every_n_train_steps
        self._first: Tensor | None = None  # the first step whose loss is not finite

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Note whether the loss is finite; check the last ones every so many batches."""
        if isinstance(outputs, Mapping) and "loss" in outputs:  # some systems have no loss
            loss = outputs["loss"]
            if self._first is None:
                self._first = torch.full((), _NEVER, device=loss.device)
            broken = ~loss.isfinite() & (self._first == _NEVER)
            self._first = self._first.masked_fill(broken, trainer.global_step)
        if (batch_idx + 1) % self.every_n_train_steps == 0:
            self._check(trainer)

    def on_train_epoch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Check the losses since the last check."""
        self._check(trainer)

    def on_save_checkpoint(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        checkpoint: dict[str, Any],
    ) -> None:
        """Check the losses, and the weights, which may break before a loss does."""
        self._check(trainer)
        # every process has the same weights
        finite = [p.isfinite().all() for p in pl_module.parameters()]
        if finite and not bool(torch.stack(finite).all()):
            raise DivergedError(f"weights are not finite after step {trainer.global_step}")

    def _check(self, trainer: lightning.Trainer) -> None:
        if self._first is None:
            return
        first = trainer.strategy.reduce(self._first.clone(), reduce_op="min")
        if (step := int(first)) != _NEVER:
            raise DivergedError(f"the loss of step {step} is not finite")
