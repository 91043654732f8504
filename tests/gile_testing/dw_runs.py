"""Small multilingual runs on the built-in news, made when first wanted."""

import functools
import json
import tempfile
from pathlib import Path

from gile_lightning import fit
from gile_testing import runs

CONFIG = Path(__file__).parents[2] / "sweeps/dw.yaml"
DOCUMENTS = 150


def arguments(output: Path | None, *more: object, epochs: int = 2) -> list[str]:
    """Return the arguments of a small fit; ``more`` are further ones."""
    keys = {
        "config": CONFIG,
        **({} if output is None else {"output": output}),
        "data.cache_dir": runs.cache(),
        "data.builtin_documents": DOCUMENTS,
        "data.eval_batch_size": 8,
        "model.encoder.layer.dim": 12,
        "model.optimizer.lr": 0.01,
        "trainer.max_epochs": epochs,
        "trainer.accelerator": "cpu",
        "trainer.enable_progress_bar": "false",
        "trainer.logger": "false",
    }
    given = [part for key, value in keys.items() for part in (f"--{key}", str(value))]
    return given + [str(part) for part in more]


@functools.cache
def trained(*more: str, epochs: int = 2) -> runs.Run:
    """Return a small run, the same one for the same further arguments."""
    output = Path(tempfile.mkdtemp(dir=runs.folder())) / "run"
    done = runs.call(fit.main, *arguments(output, *more, epochs=epochs))
    assert done.status is None, done.errors
    return runs.Run(output, json.loads((output / "metrics.json").read_text()), done.printed)
