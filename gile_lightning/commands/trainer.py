"""What a run's trainer is made with: callbacks, logger and device."""

from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch import Callback
from lightning.pytorch.accelerators import MPSAccelerator

from gile_lightning.commands.progress_bar import ProgressBar
from gile_lightning.commands.run_folder import best_of
from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.common.processes import cores
from gile_lightning.systems import System
from gile_lightning.systems.sizes import Sizes
from gile_lightning.tracking.history import History
from gile_lightning.tracking.wandb_logger import RunLogger
from gile_lightning.training.callbacks import (
    BestCheckpoint,
    FiniteLoss,
    LanguageCheckpoint,
    LastCheckpoint,
    PlateauEarlyStopping,
    StopSignals,
)
from gile_lightning.training.checkpoint import BEST, AtomicCheckpointIO
from gile_lightning.training.scores import language_score

_PER_CORE = 4  # processes, each of which needs half a GB and waits for all others


def check_processes(trainer: lightning.Trainer) -> None:
    """Say that a run on the CPU has more processes than there are cores.

    Raises:
        InputError: it has so many that they would hardly get to the first step.
    """
    count, has = trainer.num_devices, cores()
    if trainer.strategy.root_device.type != "cpu" or count <= has:
        return
    told = f"--trainer.devices {count}: on the CPU that many processes, for {has} cores"
    if count > _PER_CORE * has:
        raise InputError(f"{told}; set it to {has} at most")
    say(f"{told}; {has} would be faster")


def callbacks(
    output: Path, config: Any, history: History, model: System, languages: list[str]
) -> list[Callback]:
    """Make the callbacks of a run.

    Args:
        output: the run folder.
        config: the configuration, with the arguments of classes as plain values.
        history: records the epochs.
        model: whose metrics early stopping may monitor.
        languages: of the data.
    """
    return [
        PlateauEarlyStopping(**config.early_stopping, metrics=model.metrics),
        history,
        Sizes(),
        *([] if config.trainer.get("enable_progress_bar") is False else [ProgressBar()]),
        FiniteLoss(),
        *_best(output, config, languages),
        LastCheckpoint(output, config.checkpoint_every),
        StopSignals(output),
    ]


def _best(output: Path, config: Any, languages: list[str]) -> list[BestCheckpoint]:
    """Keep the best epoch, and that of each of several languages, whose best epochs differ."""
    stopping = config.early_stopping
    options: dict[str, Any] = {
        "candidates": None if config.length is None else config.length.candidates,
        "dirpath": output / BEST.parent,
        "mode": stopping.mode,
        "enable_version_counter": False,
    }
    best = [BestCheckpoint(filename=BEST.stem, monitor=stopping.monitor, **options)]
    for name in languages if len(languages) > 1 else ():
        options |= {
            "filename": best_of(name).stem,
            "monitor": language_score(stopping.monitor, name),
        }
        best.append(LanguageCheckpoint(name, **options))
    return best


def trainer_options(output: Path, config: Any) -> dict[str, Any]:
    """Return the arguments of the trainer that replace those of the configuration.

    Args:
        output: the run folder.
        config: the configuration, with the arguments of classes as plain values.
    """
    logger = config.trainer.get("logger")
    if logger in (None, True):
        logger = RunLogger(output, **config.wandb)
    plugins = [*(config.trainer.get("plugins") or []), AtomicCheckpointIO()]
    options = {"logger": logger, "plugins": plugins}
    if config.length is not None and config.trainer.get("max_epochs") is None:
        options["max_epochs"] = -1  # until the number of documents is known
    if config.trainer.get("accelerator") in (None, "auto") and MPSAccelerator.is_available():
        say("computing on the CPU: MPS lacks float64 (--trainer.accelerator mps tries it)")
        options["accelerator"] = "cpu"
    return options
