"""Small runs of the baselines on the built-in corpus, made when first wanted."""

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import lightning

from gile_lightning import fit
from gile_lightning.data.tokenizing.tokenizer import tokenize
from gile_testing import runs

SWEEPS = Path(__file__).parents[2] / "sweeps"
DATA = {"builtin_documents": 200, "min_count": 2, "batch_size": 32, "eval_batch_size": 64}


def arguments(config: str, output: Path | None, *more: object) -> list[str]:
    """Return the arguments of a small fit; ``more`` are further ones."""
    keys = {
        "config": SWEEPS / config,
        **({} if output is None else {"output": output}),
        "data.cache_dir": runs.cache(),
        **{f"data.{key}": value for key, value in DATA.items()},
        "trainer.accelerator": "cpu",
        "trainer.enable_progress_bar": "false",
        "trainer.logger": "false",
    }
    given = [part for key, value in keys.items() for part in (f"--{key}", str(value))]
    return given + [str(part) for part in more]


@functools.cache
def trained(config: str, *more: str) -> runs.Run:
    """Return a small run, the same one for the same further arguments."""
    output = Path(tempfile.mkdtemp(dir=runs.folder())) / "run"
    done = runs.call(fit.main, *arguments(config, output, *more))
    assert done.status is None, done.errors
    return runs.Run(output, json.loads((output / "metrics.json").read_text()), done.printed)


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
