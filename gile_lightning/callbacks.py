"""When to stop, and what to keep in case of a crash."""

from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Checkpoint, EarlyStopping
from torch import Tensor

from gile_lightning.checkpoint import LAST

POPULARITY = "val/popularity_average_precision"


class PlateauEarlyStopping(EarlyStopping):
    """Early stopping that waits for the model to leave the popularity ranking behind.

    A model that has learned nothing of the texts ranks labels by their training frequency, and
    can do so for several epochs before it learns more. Patience is counted from the first epoch
    that beats that ranking by ``min_gain``, or from epoch ``plateau``, whichever comes first.

    Args:
        monitor: the validation score.
        patience: epochs without a better score before training stops.
        plateau: epochs after which patience is counted in any case.
        min_gain: how much better than popularity a score must be.
        min_delta: how much better than the best a score must be.
        mode: whether higher (max) or lower (min) scores are better.
    """

    def __init__(
        self,
        monitor: str = "val/average_precision",
        patience: int = 3,
        plateau: int = 30,
        min_gain: float = 0.01,
        min_delta: float = 0.0,
        mode: str = "max",
    ) -> None:
        super().__init__(monitor, min_delta=min_delta, patience=patience, mode=mode)
        self.plateau = plateau
        self.min_gain = min_gain
        self._left = False
        self._epochs = 0
        self._popularity: float | None = None

    def _run_early_stopping_check(self, trainer: lightning.Trainer) -> None:
        popularity = trainer.callback_metrics.get(POPULARITY)
        self._popularity = None if popularity is None else float(popularity)
        super()._run_early_stopping_check(trainer)

    def _evaluate_stopping_criteria(self, current: Tensor) -> tuple[bool, str | None]:
        self._epochs += 1
        if self._popularity is not None and float(current) > self._popularity + self.min_gain:
            self._left = True
        should_stop, reason = super()._evaluate_stopping_criteria(current)
        if not self._left and self._epochs <= self.plateau and self.wait_count:
            self.wait_count = 0
            return False, None
        return should_stop, reason

    def on_train_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Stop at once where a resumed run had already decided to."""
        if self.wait_count >= self.patience:
            trainer.should_stop = True

    def state_dict(self) -> dict[str, Any]:
        """Return the state for the checkpoint."""
        return {**super().state_dict(), "left": self._left, "epochs": self._epochs}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state from a checkpoint."""
        super().load_state_dict(state_dict)
        self._left, self._epochs = state_dict["left"], state_dict["epochs"]


class LastCheckpoint(Checkpoint):
    """Keeps ``last.ckpt``, for resuming: after every epoch and every so many steps.

    Args:
        directory: the run folder.
        every_n_train_steps: optimizer steps between two checkpoints within an epoch.
    """

    def __init__(self, directory: Path, every_n_train_steps: int) -> None:
        self.path = directory / LAST
        self.every_n_train_steps = every_n_train_steps

    def on_train_batch_end(self, trainer: lightning.Trainer, *args: Any) -> None:
        """Save within an epoch; at its end `on_train_epoch_end` does."""
        due = trainer.global_step % self.every_n_train_steps == 0
        if due and not trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            trainer.save_checkpoint(self.path)

    def on_train_epoch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Save at the end of an epoch, after validation."""
        trainer.save_checkpoint(self.path)
