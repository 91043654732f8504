"""The tables at the end of a run, and the figures behind them."""

from collections.abc import Iterable, Mapping
from itertools import compress
from typing import Any

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
    """Key the results as in ``metrics.json``: ``test.seen.ranking_loss``, ...; fractions.

    The reference rankings go below ``reference``, labels of some number of training documents below
    ``test.frequency_1_to_5`` and its like, the results of one of several languages below its name,
    and those of its own best epoch below ``own_epoch``. Sets without a document are left out.
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
    """Return the rows of the ranking table, the names first; percentages but for the counts.

    A cell is empty where a set has no such score.
    """
    return [
        [name, *(_cell(key, scores[key]) if key in scores else "" for key in columns)]
        for name, scores in results.items()
        if scores["documents"] and name != MICRO
    ]


def f1_rows(by_language: ByLanguage, own_epochs: ByLanguage | None = None) -> list[list[str]]:
    """Return the rows of the F1 table: languages, their average, the same at their own epochs."""
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
) -> str:
    """Lay out the results as text, one row per candidate set, with figures of the run below.

    A second table has the means over labels, a third micro-F1 at the threshold, and at the one
    tuned on the validation documents.
    """
    columns = ranking_columns(added)
    parts = [
        _lay_out(["labels", *columns.values()], rows(results, columns)),
        _lay_out(["mean over labels", *LABEL_COLUMNS.values()], rows(results, LABEL_COLUMNS)),
    ]
    if by_language:
        f1 = f1_rows(by_language, own_epochs)
        parts.append(_lay_out(["micro-F1", *F1_COLUMNS.values()], f1))
    lines = [line for part in parts for line in (*part, "")][:-1]
    lines.append(", ".join(f"{name} {value}" for name, value in figures.items()))
    return "\n".join(lines)


def _lay_out(header: list[str], found: list[list[str]]) -> list[str]:
    """Align the columns, and leave out those that are empty."""
    kept = [not found or any(row[i] for row in found) for i in range(len(header))]
    cells = [list(compress(row, kept)) for row in (header, *found)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in cells
    ]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def _cell(key: str, value: float) -> str:
    if key in COUNTS:
        return f"{value:,.0f}"
    return f"{value:.2f}" if key in THRESHOLDS else f"{100 * value:.2f}"
