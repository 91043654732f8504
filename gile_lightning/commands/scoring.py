"""Scores a checkpoint on the test documents of a configuration."""

from datetime import datetime
from typing import Any

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.reporting import observed, write_report
from gile_lightning.commands.reranking import rerank_tests
from gile_lightning.commands.run_folder import write_documents, write_metrics
from gile_lightning.common.console import say, show
from gile_lightning.common.errors import InputError
from gile_lightning.data.known import KnownDocuments
from gile_lightning.systems import System
from gile_lightning.systems.loading import restore, start_from
from gile_lightning.systems.sizes import count_parameters
from gile_lightning.tracking.run_report import facts
from gile_lightning.tracking.tables import flatten, flatten_documents, table
from gile_lightning.training.checkpoint import STATE, complete, with_backend


def score(
    cli: GileCLI, path: str, checkpoint: dict[str, Any], rerank: bool = False
) -> dict[str, Any]:
    """Score a checkpoint on the data of a configuration.

    Args:
        cli: the configuration, with the model's.
        path: of the checkpoint, or of its run folder.
        checkpoint: as `read_checkpoint` returns it.
        rerank: whether the second stage beside the checkpoint reranks.

    Returns:
        The metrics, as `fit` writes them; with ``--output`` they are in a file, too, beside what
        each document contributes and a page.

    Raises:
        InputError: the model scores none of the labels of the documents.
    """
    started, model = datetime.now(), cli.model
    # an explanation would tell the scores of the first stage
    sample = None if cli.config.output is None else observed(cli, explained=not rerank)
    run_test(cli, checkpoint, path if rerank else None)
    figures = {"parameters": count_parameters(model)}
    metrics = flatten(model.results, model.by_language) | figures
    show(*table(model.results, figures, model.by_language, added=model.metrics), metrics=metrics)
    say_uncalibrated(model)
    if sample is not None and cli.trainer.is_global_zero:
        model.config = cli.resolved()
        about = facts(cli) | {"checkpoint": path, "started": started}
        write_documents(cli.output, flatten_documents(model.documents))
        write_metrics(cli.output, metrics)
        write_report(cli, sample, figures, about)
        show(output=cli.output)
    return metrics


def run_test(cli: GileCLI, checkpoint: dict[str, Any], reranked: str | None = None) -> None:
    """Run the test of `score`.

    Args:
        cli: the configuration, with the model's.
        checkpoint: as `read_checkpoint` returns it.
        reranked: the path of the checkpoint, if the second stage beside it reranks.

    Raises:
        InputError: the model scores none of the labels of the documents.
    """
    model, data, trainer = cli.model, cli.datamodule, cli.trainer
    cli.announce(data)
    tokenizer = data.subword_tokenizer()
    if tokenizer.pretrained is not None:
        checkpoint = with_backend(checkpoint, tokenizer.pretrained_backend)
    if complete(checkpoint):
        restore(model, checkpoint, data.cache_dir)
        known_documents = KnownDocuments.of(checkpoint[STATE]["extra"])
        data.encode_for_scoring(model.tasks, model.reads_new_words, known_documents)
    else:  # imported weights: the labels are those of the corpus, perhaps the words too
        start_from(model, data, checkpoint, keep=False)
    data.prepare_data()
    data.setup("test")
    say(data.summary())
    if reranked is not None:
        rerank_tests(model, data, reranked)
    trainer.test(model, data, verbose=False)
    for name, scores in model.by_language.items():
        if not (scores["seen"]["documents"] or model.scores_unseen(name)):
            raise InputError(
                f"none of the labels of the test documents ({name}) is one of the model's, which "
                "scores no others; weights that were imported without --labels have only numbers"
            )


def say_uncalibrated(model: System) -> None:
    """Say where scores are no probabilities."""
    if not model.calibratable:
        say(
            f"{type(model).__name__} cannot be calibrated: its scores rank labels and are no "
            "probabilities, so that no calibration error is reported"
        )
