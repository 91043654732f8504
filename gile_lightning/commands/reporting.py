"""Makes the report of a test, and writes its page."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.explaining import explain_tested
from gile_lightning.commands.run_folder import REPORT
from gile_lightning.common.files import write
from gile_lightning.tracking.examples import TestSample
from gile_lightning.tracking.run_page import run_page
from gile_lightning.tracking.run_report import RunReport


def observed(cli: GileCLI, explained: bool = True) -> TestSample:
    """Return a sample that observes the next test of a model, in the first process.

    Args:
        cli: the command, with the model.
        explained: whether some predictions are explained.
    """
    sample = TestSample(explain=partial(explain_tested, cli.model) if explained else None)
    cli.model.observer = sample.update if cli.trainer.is_global_zero else None
    return sample


def write_report(
    cli: GileCLI,
    sample: TestSample,
    figures: Mapping[str, Any],
    about: Mapping[str, Any],
    history: Sequence[Mapping[str, float]] = (),
    own_epochs: Mapping[str, Any] | None = None,
) -> RunReport:
    """Write the page of a run into its folder, and return what is on it.

    Args:
        cli: the command, with the model and the data that it was tested on.
        sample: observed the test; empty without one.
        figures: what ``metrics.json`` has beside results.
        about: system, corpus, commit and so on, see `facts`.
        history: the epochs of a fit; none of an evaluation.
        own_epochs: the scores of each language at its own best epoch.
    """
    model, data = cli.model, cli.datamodule
    report = RunReport(
        title=cli.output.name,
        facts=about,
        figures=figures,
        history=history,
        results=model.results,
        by_language=model.by_language,
        own_epochs=own_epochs or {},
        examples=sample.examples(data.tasks),
        confusions=sample.confusions(data.tasks),
        sizes={name: model.sizes(name) for name in data.tasks},
        counts=data.meta["counts"],
        skipped=data.meta["skipped"],
        config=model.config,
        metrics=model.metrics,
        reliability=model.reliability,
        explanations=[*sample.explanations[True], *sample.explanations[False]],
    )
    write(cli.output / REPORT, run_page(report))
    return report
