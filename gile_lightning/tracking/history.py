"""The history of a run: scores of epochs, training speed, and the wait for data."""

import csv
import io
import math
import time
from pathlib import Path
from typing import Any, Literal

import lightning

from gile_lightning.common.cells import as_text
from gile_lightning.common.files import write

SPEED = "train/documents_per_second"
DATA_WAIT = "train/data_wait"
VAL = "val/"


class History(lightning.Callback):
    """Writes ``metrics.csv``, a row per epoch, and measures the training speed.

    A training step begins with the wait for its batch, when the step before has ended. Validation
    does not count. ``train/data_wait`` is the share of the time of an epoch's steps that was spent
    waiting, ``train/documents_per_second`` their speed. The rows are part of the checkpoint, so a
    resumed run continues the table.

    Args:
        directory: the run folder.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / "metrics.csv"
        self.rows: list[dict[str, float]] = []
        self.earlier = 0.0  # seconds of the earlier processes of a resumed run
        self.documents = 0
        self.seconds = 0.0
        self.waited = 0.0
        self.stepped = 0.0  # like seconds, without the steps whose wait is unknown
        self._before = (0.0, 0.0)  # waited and stepped, at the start of the epoch
        self._counted = (0, 0.0)  # documents and seconds, at the start of the epoch
        self._start = time.perf_counter()
        self._mark = 0.0
        self._wait: float | None = None  # of this step; None if unknown
        self._saved = False  # whether a checkpoint was saved since the last step
        self.validations: list[dict[str, float]] = []

    @property
    def documents_per_second(self) -> float:
        """Training documents per second, without validation."""
        return self.documents / self.seconds if self.seconds else float("nan")

    @property
    def data_wait(self) -> float:
        """Share of the time of training steps that was spent waiting for batches."""
        return self.waited / self.stepped if self.stepped else float("nan")

    def on_train_start(self, *args: Any) -> None:
        """Start the clock: a resumed run may begin within an epoch."""
        self._mark = time.perf_counter()

    def on_train_epoch_start(self, *args: Any) -> None:
        """Start the clock."""
        self._mark = time.perf_counter()
        self._saved = False

    def on_save_checkpoint(self, *args: Any) -> None:
        """Remember the checkpoint: its time is no wait for data."""
        self._saved = True

    def on_train_batch_start(self, *args: Any) -> None:
        """Measure the wait for the batch."""
        self._wait = None if self._saved else time.perf_counter() - self._mark
        self._saved = False

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Any,
        *args: Any,
    ) -> None:
        """Count the documents of the batch, on all processes, and the time of the step."""
        for documents in batch.values():
            if documents.loss_weight:  # the processes' batches may differ by a document
                mean = len(documents.label_counts) / documents.loss_weight
                self.documents += round(mean * trainer.world_size)
        now = time.perf_counter()
        self.seconds += now - self._mark
        if self._wait is not None:
            self.waited += self._wait
            self.stepped += now - self._mark
            self._wait = None
        self._mark = now

    def on_validation_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Keep the scores; leave out the time of validation."""
        if not trainer.sanity_checking:
            scores = {k: float(v) for k, v in trainer.callback_metrics.items() if k.startswith(VAL)}
            self.validations.append({"epoch": trainer.current_epoch, **scores})
        self._mark = time.perf_counter()

    def on_train_epoch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Add the row of the epoch, and write the table."""
        row: dict[str, float] = {"epoch": trainer.current_epoch, "step": trainer.global_step}
        measured = self._measured()
        if measured:
            for logger in trainer.loggers:
                logger.log_metrics(measured, trainer.global_step)
        row |= measured | {k: float(v) for k, v in trainer.callback_metrics.items()}
        if self.validations and self.validations[-1]["epoch"] != trainer.current_epoch:
            # the trainer repeats the scores of an earlier epoch
            row = {key: value for key, value in row.items() if not key.startswith(VAL)}
        self.rows.append(row)
        if trainer.is_global_zero:
            write_csv(self.path, self.rows)

    def best(self, monitor: str, mode: Literal["max", "min"], first: int = 0) -> dict[str, float]:
        """Return the scores and the epoch of the best validation, of several the last.

        Args:
            monitor: the score that chooses the best checkpoint, such as ``val/average_precision``.
            mode: whether high (max) or low (min) scores are better.
            first: the first epoch that competes with others; see `BestCheckpoint`.
        """
        sign = 1 if mode == "max" else -1
        rows = [row for row in self.validations if not math.isnan(row.get(monitor, math.nan))]
        if not rows:
            return {}
        rows = [row for row in rows if row["epoch"] >= first] or rows
        row = max(reversed(rows), key=lambda row: sign * row[monitor])
        scores = {k.replace("/", "."): v for k, v in row.items() if k.startswith(VAL)}
        return {"best_epoch": row["epoch"], **scores}

    def _measured(self) -> dict[str, float]:
        """Return the figures of the epoch's steps that are known."""
        waited, stepped = self.waited - self._before[0], self.stepped - self._before[1]
        documents, seconds = self.documents - self._counted[0], self.seconds - self._counted[1]
        self._before = (self.waited, self.stepped)
        self._counted = (self.documents, self.seconds)
        figures = {SPEED: (documents, seconds), DATA_WAIT: (waited, stepped)}
        return {name: part / whole for name, (part, whole) in figures.items() if whole}

    def state_dict(self) -> dict[str, Any]:
        """Return the rows and counts."""
        return {
            "rows": self.rows,
            "validations": self.validations,
            "documents": self.documents,
            "seconds": self.seconds,
            "elapsed": self.earlier + time.perf_counter() - self._start,
            "waiting": [self.waited, self.stepped, *self._before],
            "counted": [*self._counted],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the rows and counts."""
        self.rows = state_dict["rows"]
        self.validations = state_dict.get("validations", [*self.rows])  # as before there were any
        self.earlier = state_dict["elapsed"]
        self.documents = state_dict["documents"]
        self.seconds = state_dict["seconds"]
        self.waited, self.stepped, *before = state_dict["waiting"]
        self._before = tuple(before)
        self._counted = tuple(state_dict["counted"])


def write_csv(path: Path, rows: list[dict[str, float]]) -> None:
    """Write a table with the columns of all rows, whole or not at all."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, columns, restval="")
    writer.writerow({key: as_text(key) for key in columns})
    writer.writerows({key: as_text(value) for key, value in row.items()} for row in rows)
    write(path, file.getvalue())
