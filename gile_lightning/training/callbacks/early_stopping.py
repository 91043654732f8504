"""Early stopping that knows the plateau at the start of training."""

import math
from typing import Any, Literal

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping
from torch import Tensor

from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError, positive
from gile_lightning.metrics.table import (
    AVERAGE_PRECISION,
    ONE_ERROR,
    Metrics,
    check_score,
    lower_is_better,
    popularity,
    val,
    validated,
)

PRECISION, ERROR = val(AVERAGE_PRECISION.name), val(ONE_ERROR.name)
POPULARITY, POPULARITY_ERROR = popularity(AVERAGE_PRECISION.name), popularity(ONE_ERROR.name)
COLLAPSED = (
    "The model still ranks labels much as their training frequencies do, whatever the text: on the "
    "validation documents its average precision is {:.3f} (by popularity {:.3f}), its one-error "
    "{:.3f} (by popularity {:.3f}). What usually helps: a larger learning rate (model.optimizer), "
    "more negatives (model.sampler), a norm of document and label vectors (model.norm), matchers "
    "(model.matchers)."
)
NOTHING_TO_MONITOR = (
    "no validation document has a label that {} counts, so training stops here: to count unseen "
    "labels too, set --early_stopping.monitor val/seen_unseen_average_precision, or give "
    "validation documents with labels that training has"
)


class PlateauEarlyStopping(EarlyStopping):
    """Early stopping that waits for the model to leave the popularity ranking behind.

    A model that has learned nothing from the texts ranks labels by their training frequency. It
    can do so for several epochs. Its F1 is zero until the first probabilities pass the threshold.
    So patience is counted from the first epoch in which

    - the average precision is above that of popularity by more than ``min_gain``, and
    - the monitored score is above ``min_gain``, where high scores are good;

    or from epoch ``plateau``, whichever comes first.

    After epoch ``plateau``, and when training ends, a warning may say what helps. It does if the
    model has never left the popularity ranking behind. It also does if the one-error is within
    0.005 of that ranking's.

    Args:
        monitor: the validation score.
        patience: epochs without a better score before training stops.
        plateau: epochs after which patience is counted in any case.
        min_gain: the least gain of the average precision over popularity, and of the score over 0.
        min_delta: the least gain of a score over the best one before it.
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
        if mode == "max" and monitor in {val(name) for name in lower_is_better(metrics)}:
            raise InputError(
                f"early_stopping.monitor is {monitor!r}, which is the better the lower it is: set "
                "--early_stopping.mode min"
            )
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
        """Warn if the model ranks labels by popularity."""
        self._warn(trainer)

    def _warn(self, trainer: lightning.Trainer) -> None:
        scores = [
            float(trainer.callback_metrics.get(key, torch.nan))
            for key in (PRECISION, POPULARITY, ERROR, POPULARITY_ERROR)
        ]
        precision, popular, error, popular_error = scores
        if precision == 1:
            return  # of one label popularity has the best ranking too
        if self._warned or not trainer.lightning_module.automatic_optimization:
            return  # the remedies are for systems that are trained by gradients
        if math.isfinite(popular) and (not self._left or abs(error - popular_error) <= 0.005):
            self._warned = True
            say(COLLAPSED.format(*scores))

    def _evaluate_stopping_criteria(self, current: Tensor) -> tuple[bool, str | None]:
        self._epochs += 1
        if bool(current.isnan()):
            say(NOTHING_TO_MONITOR.format(self.monitor))
        should_stop, reason = super()._evaluate_stopping_criteria(current)
        scored = self.mode == "min" or bool(self.best_score > self.min_gain)
        if not (self._left and scored) and self._epochs <= self.plateau and self.wait_count:
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
        """Restore the state from a checkpoint, but the patience, which may be another now."""
        super().load_state_dict(state_dict | {"patience": self.patience})
        self._left, self._epochs = state_dict["left"], state_dict["epochs"]
