"""The checkpoint from which an interrupted run goes on."""

from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Checkpoint, ModelCheckpoint
from torch import nn

from gile_lightning.common.disk import tell_space
from gile_lightning.training.checkpoint import LAST
from gile_lightning.training.length import all_steps_done, validation_is_due

_REMEDY = "free as much, or set --output to another disk"


class LastCheckpoint(Checkpoint):
    """Keeps ``last.ckpt``: saved after every epoch, and every so many steps within one.

    Args:
        directory: the run folder.
        every_n_train_steps: optimizer steps between two checkpoints within an epoch.
    """

    def __init__(self, directory: Path, every_n_train_steps: int) -> None:
        self.path = directory / LAST
        self.every_n_train_steps = every_n_train_steps
        self._due = False

    def on_fit_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Say how much disk the checkpoints of the run take."""
        if trainer.is_global_zero:
            best = sum(isinstance(c, ModelCheckpoint) for c in trainer.checkpoint_callbacks)
            files = best + 2  # this one, and another that is complete before it replaces one
            there = sum(file.stat().st_size for file in self.path.parent.glob("*.ckpt"))
            size = max(0, files * checkpoint_size(pl_module) - there)
            tell_space("checkpoints", size, self.path.parents[1], _REMEDY)

    def on_train_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Correct the trainer's count of batches where the number of processes has changed.

        The trainer counts batches, the loader documents; the epoch ends when both are through.
        """
        progress = trainer.fit_loop.epoch_loop.batch_progress
        loader: Any = trainer.train_dataloader
        done = len(loader) if progress.is_last_batch else loader.done
        current: Any = progress.current
        if current.ready != done:
            behind = current.ready - current.completed  # 1 if it was saved at the end of a batch
            current.ready = current.started = current.processed = done
            current.completed = done - behind

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Save within an epoch; `on_train_epoch_end` saves at its end.

        Where validation comes next, the step after it is saved.
        """
        # gradients accumulated since the last step are not part of a checkpoint
        stepped = (batch_idx + 1) % trainer.accumulate_grad_batches == 0
        self._due |= stepped and trainer.global_step % self.every_n_train_steps == 0
        # from there nothing would be validated
        wait = all_steps_done(trainer) or validation_is_due(trainer)
        if self._due and stepped and not wait:
            self._due = False
            if not trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
                trainer.save_checkpoint(self.path)

    def on_train_epoch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Save at the end of an epoch, after validation."""
        self._due = False
        trainer.save_checkpoint(self.path)


def checkpoint_size(model: nn.Module) -> int:
    """Return about how many bytes a checkpoint has: weights, and two moments where they train."""
    weights = sum(int(weight.nbytes) for weight in model.state_dict().values())
    return weights + 2 * sum(p.nbytes for p in model.parameters() if p.requires_grad)
