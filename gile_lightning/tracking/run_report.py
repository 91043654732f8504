"""The report of a run: what its page shows, and W&B of a fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from gile_lightning.explaining import Explanation
from gile_lightning.metrics.calibration import Reliability
from gile_lightning.metrics.evaluation import BUCKETS
from gile_lightning.metrics.summary import Scores
from gile_lightning.metrics.table import (
    F1_COLUMNS,
    FREQUENCY_COLUMNS,
    LABEL_COLUMNS,
    Metrics,
    ranking_columns,
)
from gile_lightning.tracking.examples import Confusion, Example, Gold, Predicted
from gile_lightning.tracking.repository import repository
from gile_lightning.tracking.tables import ByLanguage, f1_rows, rows

Table = tuple[list[str], list[list[Any]]]

EXAMPLES = (
    "language",
    "text",
    "gold labels",
    "missed",
    "predicted labels",
    "unseen labels",
    "hits",
)
RELIABILITIES = ("language", "labels", "mean probability (%)", "right (%)", "pairs")
CONFUSIONS = ("language", "gold label missed", "label in its place", "documents", "share (%)")

# the names of the tables in W&B
RESULTS, OVER_LABELS, F1, BY_FREQUENCY = "results", "over_labels", "f1", "by_frequency"
RELIABILITY, EXAMPLE_TABLE, CONFUSION_TABLE = "reliability", "examples", "confusions"
WITH_NAMES = (EXAMPLE_TABLE, CONFUSION_TABLE)  # of labels, which may look like numbers
TABLES = (RESULTS, OVER_LABELS, F1, BY_FREQUENCY, RELIABILITY, EXAMPLE_TABLE, CONFUSION_TABLE)


@dataclass(frozen=True)
class RunReport:
    """What the page of a fit or an evaluation shows, and W&B of a fit.

    Attributes:
        title: name of the run.
        facts: system, corpus, commit, date and so on.
        figures: what ``metrics.json`` has beside results.
        history: the rows of ``metrics.csv``; none of an evaluation.
        results: test results, averaged over languages.
        by_language: test results of each language.
        own_epochs: test results of each language at its own best epoch.
        examples: test documents with their predictions.
        confusions: pairs of labels.
        sizes: numbers of parameters, by language and module.
        counts: numbers of documents and labels; by language if there are several.
        skipped: reasons and numbers of what was left out of the corpus; likewise by language.
        config: the resolved configuration, YAML.
        metrics: the metrics that `model.metrics` added.
        reliability: of the probabilities, by language and candidate set.
        explanations: of the best label of some test documents.
    """

    title: str
    facts: Mapping[str, Any]
    figures: Mapping[str, Any]
    history: Sequence[Mapping[str, float]]
    results: Scores
    by_language: ByLanguage
    own_epochs: ByLanguage
    examples: Sequence[Example]
    confusions: Sequence[Confusion]
    sizes: Mapping[str, Mapping[str, int]]
    counts: Mapping[str, Any]
    skipped: Mapping[str, Any]
    config: str
    metrics: Metrics = ()
    reliability: Mapping[str, Mapping[str, Reliability]] = field(default_factory=dict)
    explanations: Sequence[Explanation] = ()

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Columns and rows of the tables, by name. Empty tables are left out."""
        buckets = {name: self.results[name] for name in BUCKETS if name in self.results}
        ranking = ranking_columns(self.metrics)
        made: dict[str, Table] = {
            RESULTS: (["labels", *ranking.values()], rows(self.results, ranking)),
            OVER_LABELS: (["labels", *LABEL_COLUMNS.values()], rows(self.results, LABEL_COLUMNS)),
            F1: (["micro-F1", *_distinct(F1_COLUMNS)], f1_rows(self.by_language, self.own_epochs)),
            BY_FREQUENCY: (
                ["training documents", *FREQUENCY_COLUMNS.values()],
                [
                    [name.removesuffix(" documents"), *_percent(scores)]
                    for name, scores in buckets.items()
                    if scores["documents"]
                ],
            ),
            RELIABILITY: (
                [*RELIABILITIES],
                [
                    [language, key, *row]
                    for language, sets in self.reliability.items()
                    for key, found in sets.items()
                    for row in _bins(found)
                ],
            ),
            EXAMPLE_TABLE: ([*EXAMPLES], [_example_row(example) for example in self.examples]),
            CONFUSION_TABLE: (
                [*CONFUSIONS],
                [
                    [c.language, c.gold, c.predicted, c.count, round(100 * c.share, 1)]
                    for c in self.confusions
                ],
            ),
        }
        return {name: (columns, found) for name, (columns, found) in made.items() if found}


def facts(cli: Any) -> dict[str, Any]:
    """Return the facts of a run: its system, data, code and machine.

    Args:
        cli: the parsed command line; its data module is set up.
    """
    code, data = repository(), cli.datamodule
    invented = ", invented texts" if data.builtin else ""
    batch_size = getattr(data, "batch_size", None)  # as `length` has made it
    return {
        "system": type(cli.model).__name__,
        "corpus": f"{type(data).__name__}{invented}",
        "languages": ", ".join(data.names),
        "data_fingerprint": data.fingerprint(),
        "commit": None if code is None else code.commit,
        "device": str(cli.trainer.strategy.root_device),
        "processes": cli.trainer.world_size,
        **({} if batch_size is None else {"batch_size": batch_size}),
        "started": datetime.now(),
    }


def _bins(found: Reliability) -> list[tuple[float, float, int]]:
    return [
        (round(100 * float(p), 2), round(100 * float(y), 2), int(n))
        for p, y, n in zip(*found, strict=True)
    ]


def _example_row(example: Example) -> list[Any]:
    labels: list[Gold | Predicted] = [*example.gold, *example.predicted]
    unseen = sorted({label.name for label in labels if label.unseen})
    return [
        example.language,
        example.text,
        "; ".join(label.name for label in example.gold),
        "; ".join(label.name for label in example.gold if not label.hit),
        "; ".join(
            f"{label.name} {label.score:.2f} ({'hit' if label.hit else 'miss'})"
            for label in example.predicted
        ),
        "; ".join(unseen),
        sum(label.hit for label in example.predicted),
    ]


def _percent(scores: Mapping[str, float]) -> list[float]:
    return [round(100 * scores[key], 2) for key in FREQUENCY_COLUMNS]


def _distinct(columns: Mapping[str, str]) -> list[str]:
    """Return distinct headings, as W&B's tables need."""
    found: list[str] = []
    for key, heading in columns.items():
        found.append(key.replace("_", " ") if heading in found else heading)
    return found
