"""What a run prints, and which messages of libraries it leaves out."""

import logging
import sys
import warnings
from typing import Any

import lightning
from lightning.pytorch.callbacks import TQDMProgressBar
from lightning.pytorch.utilities import rank_zero_only

_NOISE = ("💡", "`weights_only`", "TPU available", "GPU available", "Seed set", "HPU", "Restoring")


class ProgressBar(TQDMProgressBar):
    """A progress bar with loss and validation scores; redrawn seldom if the output is a file."""

    def __init__(self) -> None:
        super().__init__(refresh_rate=5 if sys.stderr.isatty() else 100)

    def get_metrics(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> dict[str, Any]:
        """Return the figures to show, without Lightning's version number of the run."""
        metrics: dict[str, Any] = super().get_metrics(trainer, pl_module)
        metrics.pop("v_num", None)
        return metrics


def quiet() -> None:
    """Leave out messages of libraries that tell a user nothing."""
    warnings.filterwarnings("ignore", message=r".*LeafSpec.*")
    warnings.filterwarnings("ignore", message=r"The number of training batches .* is smaller")
    warnings.filterwarnings(
        "ignore", message=r"Checkpoint directory .* is not empty"
    )  # a resumed run
    for name in ["lightning.pytorch", "lightning.fabric", *logging.root.manager.loggerDict]:
        if name.startswith("lightning"):
            logging.getLogger(name).addFilter(_useful)


def _useful(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(_NOISE)


@rank_zero_only
def say(text: str) -> None:
    """Print on the first process only."""
    print(text, flush=True)


def clock(seconds: float) -> str:
    """Write a duration as 52 s, 4 min, 3 h 20 min or 2 days 4 h.

    >>> clock(52.4), clock(250), clock(12_000), clock(187_300)
    ('52 s', '4 min', '3 h 20 min', '2 days 4 h')
    """
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(minutes / 60)
    return f"{hours // 24} days {hours % 24} h"
