"""Small runs of the baselines on the built-in corpus, made when first wanted."""

import functools
import json
from pathlib import Path
from typing import Any

import lightning

from gile_lightning import fit
from gile_lightning.data.tokenizing.words import tokenize
from gile_testing import runs

SWEEPS = Path(__file__).parents[2] / "sweeps"
DATA = {"builtin_documents": 200, "min_count": 2, "batch_size": 32, "eval_batch_size": 64}


def arguments(config: str, output: Path | None, *more: object) -> list[str]:
    """Return the arguments of a small fit; ``more`` are further ones."""
    keys = {f"data.{key}": value for key, value in DATA.items()}
    return runs.small(SWEEPS / config, output, keys, more)


@functools.cache
def trained(config: str, *more: str) -> runs.Run:
    """Return a small run, the same one for the same further arguments."""
    return runs.finished(lambda output: arguments(config, output, *more))


class Interrupt(lightning.Callback):
    """Interrupts training, as Ctrl-C does, before the second step."""

    def on_train_batch_start(self, *args: Any) -> None:
        if args[-1] == 1:
            raise KeyboardInterrupt


def interrupted(config: str, output: Path, *more: object) -> runs.Called:
    """Return a small run that was interrupted after a step, which has a checkpoint."""
    callbacks = json.dumps([{"class_path": "gile_testing.baseline_runs.Interrupt"}])
    options = ("--trainer.callbacks", callbacks, "--checkpoint_every", "1", *more)
    return runs.call(fit.main, *arguments(config, output, *options))


def words(text: str) -> list[str]:
    """Split a document's text into words, as the built-in corpus' encoder does."""
    return tokenize(text)[:300]
