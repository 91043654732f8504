"""The tables of results at the end of a run, and the keys of ``metrics.json``."""

from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor

from gile_lightning.common.grid import TextGrid
from gile_lightning.metrics.document_scores import GOLD, DocumentScores
from gile_lightning.metrics.evaluation import BUCKETS, MICRO, REFERENCES
from gile_lightning.metrics.summary import Scores, average
from gile_lightning.metrics.table import (
    COUNTS,
    F1_COLUMNS,
    LABEL_COLUMNS,
    THRESHOLDS,
    Metrics,
    ranking_columns,
)

ByLanguage = Mapping[str, Scores]


def flatten(
    results: Scores, by_language: ByLanguage | None = None, own_epochs: ByLanguage | None = None
) -> dict[str, float]:
    """Return the results by their keys in ``metrics.json``, as fractions.

    Examples are ``test.seen.ranking_loss``, ``reference.seen.by_popularity.one_error`` and
    ``test.frequency_1_to_5.macro_f1``. If there are several languages, their names come first, and
    ``own_epoch`` for results at a language's own best epoch. Sets without a document are left out.
    """
    flat = _flatten(results)
    if by_language and len(by_language) > 1:
        for name, scores in by_language.items():
            flat |= {f"{name}.{key}": value for key, value in _flatten(scores).items()}
    if own_epochs:
        flat |= {f"own_epoch.{k}": v for k, v in _flatten(average(own_epochs)).items()}
        for name, scores in own_epochs.items():
            flat |= {f"{name}.own_epoch.{k}": v for k, v in _flatten(scores).items()}
    return flat


def flatten_documents(
    documents: Mapping[str, DocumentScores], own_epochs: Mapping[str, DocumentScores] | None = None
) -> dict[str, Tensor]:
    """Return what each document contributes, by the keys that the figures have in `flatten`.

    ``documents``, or ``LANGUAGE.documents`` of several languages, is the number made of each
    document's labels (see `DocumentScores`). Means over languages have no such numbers.
    """
    flat: dict[str, Tensor] = {}
    for name, found in documents.items():
        first = f"{name}." if len(documents) > 1 else ""
        flat[f"{first}{GOLD}"] = found.gold
        flat |= _terms(first, found)
    for name, found in (own_epochs or {}).items():
        flat |= _terms(f"{name}.own_epoch.", found)
    return flat


def _terms(first: str, found: DocumentScores) -> dict[str, Tensor]:
    return {
        f"{first}test.{_key(key)}.{metric}": terms
        for key, of_set in found.terms.items()
        for metric, terms in of_set.items()
        if terms[:, 1].any()  # else there is no such figure
    }


def _flatten(results: Scores) -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, scores in results.items():
        if not scores["documents"]:
            continue
        prefix = f"{'reference' if name in REFERENCES else 'test'}.{_key(name)}"
        for key, value in scores.items():
            flat[f"{prefix}.{key}"] = int(value) if key in COUNTS else value
    return flat


def _key(name: str) -> str:
    if name in BUCKETS:
        name = f"frequency {name.removesuffix(' documents')}"
    return name.replace(", ", ".").replace(" ", "_")


def rows(results: Scores, columns: Iterable[str]) -> list[list[str]]:
    """Return a row per candidate set: its name, then percentages and counts.

    A cell is empty if the set has no such result.
    """
    return [
        [name, *(_cell(key, scores[key]) if key in scores else "" for key in columns)]
        for name, scores in results.items()
        if scores["documents"] and name != MICRO
    ]


def f1_rows(by_language: ByLanguage, own_epochs: ByLanguage | None = None) -> list[list[str]]:
    """Return rows of micro-F1: languages and their average, then those of their own epochs."""
    found = []
    for suffix, languages in (("", by_language), (", own epoch", own_epochs or {})):
        named = {name: scores[MICRO] for name, scores in languages.items() if MICRO in scores}
        if len(named) > 1:
            named["average"] = average(languages)[MICRO]
        for name, scores in named.items():
            cells = [_cell(key, scores[key]) if key in scores else "" for key in F1_COLUMNS]
            found.append([f"{name}{suffix}", *cells])
    return found


def table(
    results: Scores,
    figures: Mapping[str, Any],
    by_language: ByLanguage | None = None,
    own_epochs: ByLanguage | None = None,
    added: Metrics = (),
) -> list[str | TextGrid]:
    """Return the tables of a run, to be shown: candidate sets, means over labels, and micro-F1.

    Args:
        results: averaged over languages.
        figures: of the run; the last line has them.
        by_language: results of each language, for micro-F1.
        own_epochs: results of each language at its own best epoch, for micro-F1.
        added: the metrics that `model.metrics` added.
    """
    columns = ranking_columns(added)
    grids = [
        TextGrid(["labels", *columns.values()], rows(results, columns)),
        TextGrid(["mean over labels", *LABEL_COLUMNS.values()], rows(results, LABEL_COLUMNS)),
    ]
    if by_language:
        f1 = f1_rows(by_language, own_epochs)
        grids.append(TextGrid(["micro-F1", *F1_COLUMNS.values()], f1))
    blocks = [block for grid in grids for block in (grid, "")][:-1]
    return [*blocks, ", ".join(f"{name} {value}" for name, value in figures.items())]


def _cell(key: str, value: float) -> str:
    if key in COUNTS:
        return f"{value:,.0f}"
    return f"{value:.2f}" if key in THRESHOLDS else f"{100 * value:.2f}"
