"""Tests what a fit has trained: its best checkpoint, and every language at its own best epoch."""

from pathlib import Path
from typing import Any

from torch import Tensor

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.run_folder import best_of
from gile_lightning.metrics.document_scores import DocumentScores
from gile_lightning.tracking.tables import flatten_documents
from gile_lightning.training.checkpoint import BEST


def run_tests(cli: GileCLI) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Test the best checkpoint, which the model's observer sees, and nothing after it.

    Returns:
        The scores of languages at their own best epochs, and what each document contributes.
    """
    model, data, trainer = cli.model, cli.datamodule, cli.trainer
    names = data.names if len(data.names) > 1 else []
    paths = {None: cli.output / BEST, **{name: cli.output / best_of(name) for name in names}}
    # of several processes the first one has the run folder, and knows its name
    kept = trainer.strategy.broadcast({k: path for k, path in paths.items() if path.is_file()})
    best = kept.pop(None, None)  # none without an epoch
    trainer.test(model, data, ckpt_path=best, verbose=False, weights_only=True)
    model.observer = None
    by_language, documents = model.by_language, model.documents
    reliability = dict(model.reliability)
    own_epochs, own_documents = _test_own_epochs(cli, kept)
    model.by_language, model.documents = by_language, documents
    model.reliability = reliability
    return own_epochs, flatten_documents(documents, own_documents)


def _test_own_epochs(
    cli: GileCLI, checkpoints: dict[str, Path]
) -> tuple[dict[str, Any], dict[str, DocumentScores]]:
    """Test every language at the epoch that was best for it (the authors' protocol)."""
    model = cli.model
    scores: dict[str, Any] = {}
    documents: dict[str, DocumentScores] = {}
    for name, path in checkpoints.items():
        only = cli.datamodule.only(name)
        cli.trainer.test(model, only, ckpt_path=path, verbose=False, weights_only=True)
        scores |= model.by_language
        documents |= model.documents
    return scores, documents
