"""What a comparison of two systems tells, and how it is shown."""

from collections.abc import Sequence
from statistics import stdev
from typing import Any, NamedTuple

from gile_lightning.common.grid import TextGrid
from gile_lightning.metrics.bootstrap import Interval


class Difference(NamedTuple):
    """Two systems on one candidate set and metric: percentages, the second minus the first.

    ``first`` and ``second`` have the mean of each run.
    """

    language: str
    labels: str
    documents: int
    metric: str
    first: list[float]
    second: list[float]
    difference: Interval


class Extreme(NamedTuple):
    """A document or a label, and by how many points of average precision the systems differ.

    ``documents`` is the number of documents of a label, and None for a document.
    """

    language: str
    name: str
    difference: float
    documents: int | None = None


class Comparison(NamedTuple):
    """All differences, what was left out and why, and where the systems differ most."""

    differences: list[Difference]
    left_out: list[str]
    documents: list[Extreme]
    labels: list[Extreme]


def shown(comparison: Comparison) -> list[str | TextGrid]:
    """Return a comparison as blocks of text."""
    several = len({difference.language for difference in comparison.differences}) > 1
    rows = []
    for language, labels, documents, metric, first, second, found in comparison.differences:
        name = f"{language}, {labels}" if several else labels
        rows.append(
            [
                *(name, f"{documents:,}", metric, _mean(first), _mean(second)),
                f"{found.mean:+.2f}",
                f"{found.low:+.2f} to {found.high:+.2f}",
                f"{found.p:.4f}",
                "*" if found.clear else "",
            ]
        )
    header = ["labels", "documents", "metric", "first", "second", "difference", "95 % interval"]
    blocks: list[str | TextGrid] = [TextGrid([*header, "p", "clear"], rows)]
    blocks.append(
        "\ndifference: second minus first, points (ranking loss and one-error are better when "
        "low); *: the interval leaves out 0"
    )
    blocks += [f"left out: {text}" for text in comparison.left_out]
    for title, extremes in (
        ("documents (by their place among the test documents)", comparison.documents),
        ("labels", comparison.labels),
    ):
        if extremes:
            blocks.append(f"\n{title} that differ most, by points of average precision")
            blocks += [_line(extreme, several) for extreme in extremes]
    return blocks


def _mean(values: Sequence[float]) -> str:
    """Write the mean of the runs, and their standard deviation if there are several."""
    mean = f"{sum(values) / len(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {stdev(values):.2f}"


def _line(extreme: Extreme, several: bool) -> str:
    language, name, difference, documents = extreme
    count = "" if documents is None else f" ({documents} documents)"
    return f"{difference:+8.2f}  {f'{language}, ' if several else ''}{name}{count}"


def plain(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain values, for JSON."""
    return {
        "differences": [
            row._asdict() | {"difference": row.difference._asdict()}
            for row in comparison.differences
        ],
        "left_out": comparison.left_out,
        "documents": [row._asdict() for row in comparison.documents],
        "labels": [row._asdict() for row in comparison.labels],
    }
