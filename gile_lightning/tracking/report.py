"""The table at the end of a run, and the figures behind it."""

from collections.abc import Mapping
from typing import Any

COLUMNS = {
    "documents": "documents",
    "ranking_loss": "ranking loss",
    "average_precision": "average precision",
    "one_error": "one-error",
    "precision_at_1": "P@1",
    "precision_at_5": "P@5",
}

Results = Mapping[str, Mapping[str, float]]


def flatten(results: Results) -> dict[str, float]:
    """Key the results as in ``metrics.json``: ``test.seen.ranking_loss``, ...; fractions.

    The reference rankings go below ``reference``. Sets without a document are left out.
    """
    flat = {}
    for name, scores in results.items():
        if not scores["documents"]:
            continue
        prefix = f"reference.{name.replace(', ', '.').replace(' ', '_')}"
        prefix = f"test.{name}" if "," not in name else prefix
        for key, value in scores.items():
            flat[f"{prefix}.{key}"] = int(value) if key in ("documents", "skipped") else value
    return flat


def rows(results: Results) -> list[list[str]]:
    """Return the table's rows, the names first; percentages but for the documents."""
    return [
        [name, *(_cell(key, scores[key]) for key in COLUMNS)]
        for name, scores in results.items()
        if scores["documents"]
    ]


def table(results: Results, figures: Mapping[str, Any]) -> str:
    """Lay out the results as text, one row per candidate set, with figures of the run below."""
    cells = [["labels", *COLUMNS.values()], *rows(results)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in cells
    ]
    lines.insert(1, "-" * len(lines[0]))
    lines.append(", ".join(f"{name} {value}" for name, value in figures.items()))
    return "\n".join(lines)


def _cell(key: str, value: float) -> str:
    return f"{value:,.0f}" if key == "documents" else f"{100 * value:.2f}"
