"""What a run prints: a progress bar, sizes, and nothing that does not help."""

import logging
import sys
import warnings
from typing import Any

import lightning
from lightning.pytorch.callbacks import TQDMProgressBar
from lightning.pytorch.utilities import rank_zero_only

from gile_lightning.systems.system import System

_NOISE = ("💡", "`weights_only`", "TPU available", "GPU available", "Seed set", "HPU", "Restoring")


class ProgressBar(TQDMProgressBar):
    """Loss and validation scores; redrawn seldom where the output is a file."""

    def __init__(self) -> None:
        super().__init__(refresh_rate=5 if sys.stderr.isatty() else 100)

    def get_metrics(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> dict[str, Any]:
        """Return the figures to show, without the name of the run."""
        metrics: dict[str, Any] = super().get_metrics(trainer, pl_module)
        metrics.pop("v_num", None)
        return metrics


class Sizes(lightning.Callback):
    """Prints the number of parameters before training."""

    def on_fit_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Print the counts of a built model."""
        if isinstance(pl_module, System):
            say(parameters(pl_module))


def quiet() -> None:
    """Leave out the libraries' messages that tell a user nothing."""
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


def parameters(model: System) -> str:
    """List the number of parameters of every part and in all."""
    lines = []
    for language in model.tasks:
        sizes = model.sizes(language).items()
        counts = ", ".join(f"{name} {count:,}" for name, count in sizes if count)
        if counts:
            lines.append(f"parameters ({language}): {counts}")
    total, languages = count_parameters(model), len(model.tasks)
    each = f", {total / languages:,.0f} per language" if languages > 1 else ""
    lines.append(f"parameters in all: {total:,}{each}")
    return "\n".join(lines)


def count_parameters(model: System) -> int:
    """Count the parameters, shared ones once."""
    return sum(p.numel() for p in model.parameters())


@rank_zero_only
def say(text: str) -> None:
    """Print on the first process only."""
    print(text, flush=True)
