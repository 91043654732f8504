"""The page of a run: one HTML file."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from gile_lightning.metrics.table import ranking_columns
from gile_lightning.tracking import drawings
from gile_lightning.tracking.explanation_page import shown_document
from gile_lightning.tracking.page import render
from gile_lightning.tracking.run_report import BY_FREQUENCY, RunReport, Table
from gile_lightning.tracking.tables import rows


def run_page(report: RunReport) -> str:
    """Return the HTML page of a run."""
    facts = {**report.facts, **report.figures}.items()
    bars = "Seen labels by their training documents (%)"
    frequency = report.tables.get(BY_FREQUENCY)
    return render(
        "run.html",
        title=report.title,
        facts={key.replace("_", " "): _shown(x) for key, x in facts if x not in (None, "")},
        tables={name: _without_empty(*found) for name, found in report.tables.items()},
        by_language=_by_language(report) if len(report.by_language) > 1 else None,
        curves=drawings.curves(report.history, list(report.by_language), report.metrics),
        bars=[drawings.bars(bars, *frequency)] if frequency else [],
        reliability=[
            drawings.reliability(_named(report, name), found)
            for name, found in report.reliability.items()
            if found
        ],
        examples=report.examples,
        explained=[shown_document(explanation) for explanation in report.explanations],
        counts=_counts(report),
        skipped=_skipped(report),
        parameters=int(report.figures["parameters"]),
        parts=_parts(report),
        config=report.config,
    )


def _named(report: RunReport, language: str) -> str:
    title = "Reliability of the ten best labels (%)"
    return f"{title}, {language}" if len(report.reliability) > 1 else title


def _by_language(report: RunReport) -> Table:
    columns = ranking_columns(report.metrics)
    found = [
        [name, *row] for name, scores in report.by_language.items() for row in rows(scores, columns)
    ]
    return _without_empty(["language", "labels", *columns.values()], found)


def _counts(report: RunReport) -> Table:
    by_language = {"": report.counts} if "documents" in report.counts else report.counts
    flat = {name: _flat(counts) for name, counts in by_language.items()}
    keys = dict.fromkeys(key for counts in flat.values() for key in counts)
    found = [[name, *(counts.get(key, "") for key in keys)] for name, counts in flat.items()]
    return _without_empty(["language", *keys], found)


def _skipped(report: RunReport) -> Table | None:
    by_language = {"": report.skipped} if "documents" in report.counts else report.skipped
    found = [
        [name, reason, case["count"], case["first"]]
        for name, cases in by_language.items()
        for reason, case in cases.items()
    ]
    return _without_empty(["language", "left out", "count", "first"], found) if found else None


def _parts(report: RunReport) -> Table | None:
    parts = dict.fromkeys(key for sizes in report.sizes.values() for key in sizes)
    found = [[part, *(sizes.get(part, 0) for sizes in report.sizes.values())] for part in parts]
    found = [row for row in found if any(row[1:])]
    return (["part", *report.sizes], found) if found else None


def _without_empty(columns: Sequence[str], found: Sequence[Sequence[Any]]) -> Table:
    """Leave out columns without a value, and the language if there is only one."""
    kept = [
        i
        for i, column in enumerate(columns)
        if any(row[i] not in ("", None) for row in found)
        and not (column == "language" and len({row[i] for row in found}) == 1)
    ]
    return [columns[i] for i in kept], [[row[i] for i in kept] for row in found]


def _flat(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Put the counts of the splits on the same level as the others."""
    found: dict[str, Any] = {}
    for key, value in counts.items():
        if isinstance(value, Mapping):
            found |= {f"{name} {key}": number for name, number in value.items()}
        else:
            found[key.replace("_", " ")] = value
    return found


def _shown(value: Any) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
