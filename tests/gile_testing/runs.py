"""Small runs on the built-in corpus that several test files share, each made when first wanted."""

import atexit
import contextlib
import functools
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import lightning
import numpy as np
import torch
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss

from gile_lightning import fit
from gile_lightning.commands.run_folder import read_metrics

# The tensors are tiny: threads would wait for each other, on a busy machine most of the time.
os.environ["OMP_NUM_THREADS"] = "1"  # of the processes that tests start
torch.set_num_threads(1)

CONFIG = Path(__file__).parents[2] / "sweeps/bioasq.yaml"
DOCUMENTS = 400
TIMED = ("seconds", "documents_per_second")
DATA = {
    **{"builtin_documents": DOCUMENTS, "min_count": 2, "batch_size": 32, "eval_batch_size": 64},
    **{"label_text": "description", "label_words": False, "max_label_words": 50},  # as in the paper
}
CLASSES = {
    "--model.encoder": "model.encoder.layer.dim",
    "--model.output": "model.output.joint_dim",
    "--data": "data.builtin_documents",
}
MODEL = {"embedding.dim": 20, "encoder.layer.dim": 24, "output.joint_dim": 30, "optimizer.lr": 0.01}


@functools.cache
def folder() -> Path:
    """Where the shared runs and the encoded corpus are."""
    path = Path(tempfile.mkdtemp(prefix="gile-lightning-runs-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def cache() -> Path:
    return folder() / "cache"


def small(config: Path, output: Path | None, keys: dict[str, object], more: Any) -> list[str]:
    """Return the arguments of a fit on the CPU: a configuration, keys, and ``more`` as they are."""
    for option, key in CLASSES.items():
        if option in more:  # another class, which has no such key
            keys.pop(key, None)
    given = {
        "config": config,
        **({} if output is None else {"output": output}),
        "data.cache_dir": cache(),
        **keys,
        "trainer.accelerator": "cpu",
        "trainer.enable_progress_bar": "false",
        "trainer.logger": "false",
    }
    return [str(part) for key, value in given.items() for part in (f"--{key}", value)] + [
        str(part) for part in more
    ]


def arguments(output: Path | None, *more: object, epochs: int = 2) -> list[str]:
    """Return the arguments of a small fit; ``more`` are further ones."""
    keys = {f"data.{key}": value for key, value in DATA.items()}
    keys |= {f"model.{key}": value for key, value in MODEL.items()}
    return small(CONFIG, output, keys | {"trainer.max_epochs": epochs}, more)


class Called(NamedTuple):
    """What a command returned and printed; ``status`` is None if it did not exit."""

    result: Any
    printed: str
    errors: str
    status: int | None


def call(main: Callable[[list[str]], Any], *args: object) -> Called:
    """Run a command in this process."""
    printed, errors = io.StringIO(), io.StringIO()
    result = status = None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        try:
            result = main([str(arg) for arg in args])
        except SystemExit as stop:
            status = int(stop.code or 0)
    return Called(result, printed.getvalue(), errors.getvalue(), status)


class Run(NamedTuple):
    output: Path
    metrics: dict[str, Any]
    printed: str

    @property
    def best(self) -> Path:
        return self.output / "checkpoints/best.ckpt"


def finished(make: Callable[[Path], list[str]]) -> Run:
    """Fit with the arguments that are made of a run folder."""
    output = Path(tempfile.mkdtemp(dir=folder())) / "run"
    done = call(fit.main, *make(output))
    assert done.status is None, done.errors
    return Run(output, read_metrics(output), done.printed)


@functools.cache
def trained(*more: str) -> Run:
    """Return a small run, the same one for the same further arguments."""
    return finished(lambda output: arguments(output, *more))


MATCHING = (  # matchers and a label residual
    "--model.matchers",
    json.dumps(
        [
            {
                "class_path": "gile_lightning.network.matchers.LexicalMatch",
                "init_args": {"stemmer": "english"},
            },
            {"class_path": "gile_lightning.network.matchers.NameMention"},
        ]
    ),
    *("--model.label_residual", "gile_lightning.network.LabelResidual"),
)
LINEAR = ("--model.output", "gile_lightning.network.outputs.Linear")
MATCH = ("--model.matchers", '[{"class_path": "gile_lightning.network.matchers.LexicalMatch"}]')


def reproducible(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics that two equal runs share."""
    return {key: value for key, value in metrics.items() if key not in TIMED}


def articles(directory: Path | None = None) -> list[dict[str, Any]]:
    """Return the raw articles of the built-in corpus, or of another BioASQ folder."""
    if directory is None:
        (directory,) = cache().glob(f"builtin-*-{DOCUMENTS}")
    (path,) = directory.glob("allMeSH*.json")
    found: list[dict[str, Any]] = json.loads(path.read_text())["articles"]
    return found


def text(article: dict[str, Any]) -> str:
    return f"{article['title']} {article['abstractText']}"


def positives(labels: list[list[str]], names: list[str]) -> np.ndarray:
    """Return which of the labels ``names`` each document has, [B, K]."""
    return np.array([[name in has for name in names] for has in map(set, labels)], dtype=int)


def ranking_scores(logits: np.ndarray, targets: np.ndarray) -> dict[str, float]:
    """Score documents with scikit-learn: means over those that have a positive."""
    kept = targets.any(1)
    logits, targets = logits[kept].astype(np.float64), targets[kept]
    order = np.argsort(-logits, axis=1, kind="stable")
    hits = np.take_along_axis(targets, order, axis=1)
    return {
        "ranking_loss": label_ranking_loss(targets, logits),
        "average_precision": label_ranking_average_precision_score(targets, logits),
        "one_error": float(1 - hits[:, 0].mean()),
        "precision_at_1": float(hits[:, 0].mean()),
        "precision_at_5": float(hits[:, :5].mean()),
        "documents": int(kept.sum()),
        "skipped": int((~kept).sum()),
    }


class Interrupt(lightning.Callback):
    """Interrupts training, as Ctrl-C does, after the first step."""

    def on_train_batch_end(self, *args: Any) -> None:
        raise KeyboardInterrupt
