"""The course of a run: a table of epochs, seconds and documents per second."""

import csv
import time
from pathlib import Path
from typing import Any

import lightning


class History(lightning.Callback):
    """Writes ``metrics.csv``, a row per epoch, and measures the training speed.

    The rows are part of the checkpoint, so a resumed run goes on with the table where it was.

    Args:
        directory: the run folder.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / "metrics.csv"
        self.rows: list[dict[str, float]] = []
        self.documents = 0
        self.seconds = 0.0
        self._mark = 0.0

    @property
    def documents_per_second(self) -> float:
        """Documents trained on per second of training, validation left out."""
        return self.documents / self.seconds if self.seconds else float("nan")

    def on_train_start(self, *args: Any) -> None:
        """Start the clock; a resumed run may begin within an epoch."""
        self._mark = time.perf_counter()

    def on_train_epoch_start(self, *args: Any) -> None:
        """Start the clock."""
        self._mark = time.perf_counter()

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Any,
        *args: Any,
    ) -> None:
        """Count the documents of the batch, on all processes, and the time since the last one."""
        counts = (len(documents.label_counts) for documents in batch.values())
        self.documents += sum(counts) * trainer.world_size
        now = time.perf_counter()
        self.seconds += now - self._mark
        self._mark = now

    def on_validation_end(self, *args: Any) -> None:
        """Leave the time of validation out."""
        self._mark = time.perf_counter()

    def on_train_epoch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Add the epoch's row and write the table."""
        row: dict[str, float] = {"epoch": trainer.current_epoch, "step": trainer.global_step}
        row |= {k: float(v) for k, v in trainer.callback_metrics.items()}
        self.rows.append(row)
        if trainer.is_global_zero:
            write_csv(self.path, self.rows)

    def state_dict(self) -> dict[str, Any]:
        """Return the rows and counts."""
        return {"rows": self.rows, "documents": self.documents, "seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with stored rows and counts."""
        self.rows = state_dict["rows"]
        self.documents = state_dict["documents"]
        self.seconds = state_dict["seconds"]


def write_csv(path: Path, rows: list[dict[str, float]]) -> None:
    """Write rows with all their columns, whole or not at all."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    partial = path.with_suffix(".partial")
    with open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    partial.replace(path)
