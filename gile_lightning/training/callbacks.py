"""When to stop, and what to keep in case of a crash."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import lightning
import torch
from lightning.pytorch.callbacks import Checkpoint, EarlyStopping, ModelCheckpoint
from torch import Tensor

from gile_lightning.common.console import say
from gile_lightning.common.errors import DivergedError, InputError, positive
from gile_lightning.metrics.table import (
    AVERAGE_PRECISION,
    ONE_ERROR,
    Metrics,
    check_score,
    popularity,
    val,
    validated,
)
from gile_lightning.systems.neural import NeuralSystem
from gile_lightning.training.checkpoint import LAST

PRECISION, ERROR = val(AVERAGE_PRECISION.name), val(ONE_ERROR.name)
POPULARITY, POPULARITY_ERROR = popularity(AVERAGE_PRECISION.name), popularity(ONE_ERROR.name)
COLLAPSED = (
    "The model still ranks labels much as their training frequencies do, whatever the text: on the "
    "validation documents its average precision is {:.3f} (by popularity {:.3f}), its one-error "
    "{:.3f} (by popularity {:.3f}). What usually helps: a larger learning rate (model.optimizer), "
    "more negatives (model.sampler), a norm of document and label vectors (model.norm), matchers "
    "(model.matchers)."
)
_NEVER = torch.iinfo(torch.long).max


def language_score(monitor: str, language: str) -> str:
    """Return the name of a validation score for one of several languages."""
    return f"val/{language}/{monitor.removeprefix('val/')}"


class PlateauEarlyStopping(EarlyStopping):
    """Early stopping that waits for the model to leave the popularity ranking behind.

    A model that has learned nothing of the texts ranks labels by their training frequency, and
    can do so for several epochs before it learns more; and its F1 is zero until the first
    probabilities pass the threshold. Patience is counted from the first epoch whose average
    precision beats that ranking's by ``min_gain`` and whose monitored score is above
    ``min_gain``, if high ones are good, or from epoch ``plateau``, whichever comes first.

    If after epoch ``plateau``, or when training ends, the model has never left that ranking
    behind, or its one-error is within 0.005 of that ranking's, this is said, with what helps.

    Args:
        monitor: the validation score.
        patience: epochs without a better score before training stops.
        plateau: epochs after which patience is counted in any case.
        min_gain: how much above popularity's the average precision must be, and above zero the
            score.
        min_delta: how much better than the best a score must be.
        mode: whether higher (max) or lower (min) scores are better.
        metrics: the system's further metrics, which may be monitored too.
    """

    def __init__(
        self,
        monitor: str = "val/average_precision",
        patience: int = 3,
        plateau: int = 30,
        min_gain: float = 0.01,
        min_delta: float = 0.0,
        mode: Literal["max", "min"] = "max",
        metrics: Metrics = (),
    ) -> None:
        positive(patience=patience)
        if plateau < 0 or min_gain < 0:
            raise InputError("early_stopping: plateau and min_gain are 0 or more")
        check_score("early_stopping.monitor", monitor, map(val, validated(metrics)))
        super().__init__(monitor, min_delta=min_delta, patience=patience, mode=mode)
        self.plateau = plateau
        self.min_gain = min_gain
        self._left = False
        self._epochs = 0
        self._warned = False

    def _run_early_stopping_check(self, trainer: lightning.Trainer) -> None:
        scores = trainer.callback_metrics
        if PRECISION in scores and POPULARITY in scores:
            self._left |= bool(scores[PRECISION] > scores[POPULARITY] + self.min_gain)
        super()._run_early_stopping_check(trainer)
        if self._epochs == self.plateau:
            self._warn(trainer)

    def on_train_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Say if the model ranks labels by popularity."""
        self._warn(trainer)

    def _warn(self, trainer: lightning.Trainer) -> None:
        scores = [
            float(trainer.callback_metrics.get(key, torch.nan))
            for key in (PRECISION, POPULARITY, ERROR, POPULARITY_ERROR)
        ]
        _, popular, error, popular_error = scores
        if self._warned or not isinstance(trainer.lightning_module, NeuralSystem):
            return  # baselines have nothing that could be set
        if math.isfinite(popular) and (not self._left or abs(error - popular_error) <= 0.005):
            self._warned = True
            say(COLLAPSED.format(*scores))

    def _evaluate_stopping_criteria(self, current: Tensor) -> tuple[bool, str | None]:
        self._epochs += 1
        should_stop, reason = super()._evaluate_stopping_criteria(current)
        some = self.mode == "min" or bool(self.best_score > self.min_gain)
        if not (self._left and some) and self._epochs <= self.plateau and self.wait_count:
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


class LanguageCheckpoint(ModelCheckpoint):
    """Keeps the best epoch of one of several languages, as a model of that language alone.

    With all languages in each, a run would keep the word vectors of all once per language.

    Args:
        language: its name.
        kwargs: see `ModelCheckpoint`.
    """

    def __init__(self, language: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.language = language

    def _save_checkpoint(self, trainer: lightning.Trainer, filepath: str) -> None:
        trainer.save_checkpoint(filepath, False, {"language": self.language})
        self._last_global_step_saved = trainer.global_step
        self._last_checkpoint_saved = filepath


class LastCheckpoint(Checkpoint):
    """Keeps ``last.ckpt``, for resuming: after every epoch and every so many steps.

    Args:
        directory: the run folder.
        every_n_train_steps: optimizer steps between two checkpoints within an epoch.
    """

    def __init__(self, directory: Path, every_n_train_steps: int) -> None:
        self.path = directory / LAST
        self.every_n_train_steps = every_n_train_steps

    def on_train_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Count the batches of an epoch that is resumed by another number of processes.

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
        """Save within an epoch; at its end `on_train_epoch_end` does."""
        # gradients gathered since the last step are not part of a checkpoint
        stepped = (batch_idx + 1) % trainer.accumulate_grad_batches == 0
        due = stepped and trainer.global_step % self.every_n_train_steps == 0
        if due and not trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            trainer.save_checkpoint(self.path)

    def on_train_epoch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Save at the end of an epoch, after validation."""
        trainer.save_checkpoint(self.path)


class FiniteLoss(lightning.Callback):
    """Ends training, on all processes, when a loss is infinite or no number.

    The losses are looked at together every so many steps, at the end of an epoch and before a
    checkpoint is written, as to look at one makes a GPU wait. The weights are looked at before a
    checkpoint too: none is overwritten by a model that is broken.

    Args:
        every_n_train_steps: batches between two looks.
    """

    def __init__(self, every_n_train_steps: int = 50) -> None:
        self.every_n_train_steps = every_n_train_steps
        self._first: Tensor | None = None  # the step whose loss was the first such

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Take note of the loss; look at the last ones every so many batches."""
        if isinstance(outputs, Mapping) and "loss" in outputs:  # some systems have none
            loss = outputs["loss"]
            if self._first is None:
                self._first = torch.full((), _NEVER, device=loss.device)
            broken = ~loss.isfinite() & (self._first == _NEVER)
            self._first = self._first.masked_fill(broken, trainer.global_step)
        if (batch_idx + 1) % self.every_n_train_steps == 0:
            self._look(trainer)

    def on_train_epoch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Look at the losses since the last look."""
        self._look(trainer)

    def on_save_checkpoint(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        checkpoint: dict[str, Any],
    ) -> None:
        """Look at the losses and at the weights, which may be broken before a loss is."""
        self._look(trainer)
        # the same on all processes
        finite = [p.isfinite().all() for p in pl_module.parameters()]
        if finite and not bool(torch.stack(finite).all()):
            raise DivergedError(f"weights are not finite after step {trainer.global_step}")

    def _look(self, trainer: lightning.Trainer) -> None:
        if self._first is None:
            return
        first = trainer.strategy.reduce(self._first.clone(), reduce_op="min")
        if (step := int(first)) != _NEVER:
            raise DivergedError(f"the loss of step {step} is not finite")
