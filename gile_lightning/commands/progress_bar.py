"""The progress of a trainer: epochs, validation and test."""

import math
from typing import Any

import lightning
from lightning.pytorch import callbacks

from gile_lightning.common.progress import Progress


class ProgressBar(callbacks.ProgressBar):
    """Shows the epoch, its batches, the time left of all training, the loss and scores.

    Early stopping may end training before that time. Each validation and test is a step of its
    own, beside training.
    """

    def __init__(self) -> None:
        super().__init__()
        self._steps: dict[str, Progress] = {}
        self._enabled = True

    def disable(self) -> None:
        """Show nothing: Lightning asks for it in all processes but the first."""
        self._enabled = False

    def enable(self) -> None:
        """Show what there is again."""
        self._enabled = True

    def _begin(self, name: str, total: float | None, done: int = 0, **options: Any) -> None:
        finite = total if total is not None and math.isfinite(total) else None
        step = Progress(name, finite, "batches", show=self._enabled, **options)
        step.done = done
        self._steps[name] = step.__enter__()

    def _end(self, *names: str) -> None:
        for name in names:
            if name in self._steps:
                self._steps.pop(name).__exit__()

    def on_train_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Begin to count batches; a resumed run has some already."""
        epochs, steps = trainer.max_epochs, trainer.max_steps
        limits = [] if epochs in (None, -1) else [trainer.num_training_batches * epochs]
        limits += [steps * trainer.accumulate_grad_batches] if steps > 0 else []

        def describe() -> str:
            of = "" if epochs in (None, -1) else f" of {epochs}"
            figures = self.get_metrics(trainer, pl_module).items()
            shown = [f"{k} {x:.3g}" for k, x in figures if isinstance(x, float)]
            return ", ".join([f"epoch {trainer.current_epoch + 1}{of}", *shown])

        done = trainer.fit_loop.epoch_loop.total_batch_idx + 1
        total = min(limits, default=None)
        self._begin("training", total, done, recent=math.inf, describe=describe)

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Count a batch."""
        self._steps["training"].advance()

    def on_validation_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Begin to count batches."""
        if not trainer.sanity_checking:
            self._begin("validating", sum(trainer.num_val_batches))

    def on_validation_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Count a batch."""
        if "validating" in self._steps:
            self._steps["validating"].advance()

    def on_validation_end(self, *args: Any) -> None:
        """Show nothing of it any more."""
        self._end("validating")

    def on_test_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Begin to count batches."""
        self._begin("testing", sum(trainer.num_test_batches))

    def on_test_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Count a batch."""
        self._steps["testing"].advance()

    def on_test_end(self, *args: Any) -> None:
        """Show nothing of it any more."""
        self._end("testing")

    def on_train_end(self, *args: Any) -> None:
        """Show nothing of it any more."""
        self._end("training")

    def on_exception(self, *args: Any) -> None:
        """Leave the terminal as it was."""
        self._end("testing", "validating", "training")
