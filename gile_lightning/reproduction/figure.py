"""Draws the scores of rows against their sampling rates (paper, the figure of section 5.2.4)."""

import io
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from gile_lightning.reproduction.grid import Grid
from gile_lightning.reproduction.tables import Cell, Line


def draw(grid: Grid, lines: Sequence[Line], data: str, kind: str) -> bytes:
    """Draw a panel per block: score on the left axis, speed on the right, baseline dashed.

    Args:
        grid: the table, with the headings to draw in its ``figure``.
        lines: the rows of the table.
        data: name of the corpus.
        kind: ``png`` or ``svg``.
    """
    headings = [column.heading for column in grid.columns]
    score, speed = (headings.index(grid.figure[key]) for key in ("score", "speed"))
    with matplotlib.rc_context({"svg.hashsalt": grid.title}):  # equal tables, equal files
        figure = Figure(figsize=(5.0 * len(grid.blocks), 4.0), layout="constrained")
        panels = figure.subplots(1, len(grid.blocks), squeeze=False)[0]
        for panel, block in zip(panels, grid.blocks, strict=True):
            own = [line for line in lines if line.block == block]
            panel.set_title(f"{block} labels, data: {data}")
            panel.set_xlabel(grid.figure["x"])
            panel.set_ylabel(headings[score])
            other = panel.twinx()
            other.set_ylabel(headings[speed])
            _curve(panel, own, score, "C0", headings[score])
            _curve(other, own, speed, "C1", headings[speed])
            for line in own:
                if line.row.name == grid.figure["baseline"] and line.cells[score].mean is not None:
                    panel.axhline(line.cells[score].mean, color="C0", ls="--", label=line.row.name)
            handles = [*panel.get_legend_handles_labels()[0], *other.get_legend_handles_labels()[0]]
            if handles:
                panel.legend(handles=handles, loc="lower center", frameon=False)
        content = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {}
        figure.savefig(content, format=kind, dpi=150, metadata=metadata)
    return content.getvalue()


def _curve(panel: Any, lines: Sequence[Line], column: int, color: str, label: str) -> None:
    points: list[tuple[float, Cell]] = sorted(
        (
            (line.row.x, line.cells[column])
            for line in lines
            if line.row.x is not None and line.cells[column].mean is not None
        ),
        key=lambda point: point[0],
    )
    if points:
        x = [x for x, _ in points]
        y = [cell.mean for _, cell in points]
        deviations = [cell.deviation or 0.0 for _, cell in points]
        panel.errorbar(x, y, deviations, color=color, marker="o", ms=3, capsize=2, label=label)
