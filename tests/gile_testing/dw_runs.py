"""Small multilingual runs on the built-in news, made when first wanted."""

import functools
from pathlib import Path

from gile_testing import runs

CONFIG = Path(__file__).parents[2] / "sweeps/dw.yaml"
DOCUMENTS = 150


def arguments(output: Path | None, *more: object, epochs: int = 2) -> list[str]:
    """Return the arguments of a small fit; ``more`` are further ones."""
    keys = {
        "data.builtin_documents": DOCUMENTS,
        "data.eval_batch_size": 8,
        "model.encoder.layer.dim": 12,
        "model.optimizer.lr": 0.01,
        "trainer.max_epochs": epochs,
    }
    return runs.small(CONFIG, output, keys, more)


@functools.cache
def trained(*more: str, epochs: int = 2) -> runs.Run:
    """Return a small run, the same one for the same further arguments."""
    return runs.finished(lambda output: arguments(output, *more, epochs=epochs))
