"""Draws the figure of label sampling (paper, section 5.2.4), and learning curves."""

import io
from collections.abc import Sequence
from itertools import product
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from gile_lightning.reproduction.grid import Grid
from gile_lightning.reproduction.tables import Cell, Line


def draw(grid: Grid, lines: Sequence[Line], data: str, kind: str) -> bytes:
    """Draw a table: learning curves if its columns have an x, else the figure of label sampling.

    Args:
        grid: the table, with what to draw in its ``figure``.
        lines: the rows of the table.
        data: name of the corpus.
        kind: ``png`` or ``svg``.
    """
    learning = any(column.x is not None for column in grid.columns)
    with matplotlib.rc_context({"svg.hashsalt": grid.title}):  # equal tables, equal files
        figure = (_learning_curves if learning else _sampling)(grid, lines, data)
        content = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {}
        figure.savefig(content, format=kind, dpi=150, metadata=metadata)
    return content.getvalue()


def _sampling(grid: Grid, lines: Sequence[Line], data: str) -> Figure:
    """Draw a panel per block: score on the left axis, speed on the right, baseline dashed."""
    headings = [column.heading for column in grid.columns]
    score, speed = (headings.index(grid.figure[key]) for key in ("score", "speed"))
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
    return figure


def _learning_curves(grid: Grid, lines: Sequence[Line], data: str) -> Figure:
    """Draw a panel per block and kind of columns: a curve of each row over the columns' x."""
    kinds = list(dict.fromkeys(column.panel for column in grid.columns if column.x is not None))
    drawn = {line.block for line in lines}
    blocks = [block for block in grid.blocks if block in drawn] or list(grid.blocks)
    figure = Figure(figsize=(4.5 * len(kinds), 3.5 * len(blocks) + 1), layout="constrained")
    panels = figure.subplots(len(blocks), len(kinds), squeeze=False)
    for (block, row), kind in product(zip(blocks, panels, strict=True), kinds):
        panel = row[kinds.index(kind)]
        panel.set_title(f"{block or data}, {kind}")
        panel.set_xlabel(grid.figure["x"])
        panel.set_ylabel(grid.figure["score"])
        panel.set_xscale("log")
        for number, line in enumerate(line for line in lines if line.block == block):
            points = [
                (column.x, cell)
                for column, cell in zip(grid.columns, line.cells, strict=True)
                if column.panel == kind and column.x is not None and cell.mean is not None
            ]
            if points:
                x, cells = zip(*points, strict=True)
                means = [cell.mean for cell in cells]
                spread = [cell.deviation or 0.0 for cell in cells]
                style = {"color": f"C{number}", "marker": "o", "ms": 3, "capsize": 2}
                panel.errorbar(x, means, spread, label=line.row.name, **style)
        ticks = sorted({column.x for column in grid.columns if column.x is not None})
        panel.set_xticks(ticks, [f"{x:g}" for x in ticks])
        panel.minorticks_off()
    named = dict[str, Any]()
    for panel in panels.flat:
        handles, names = panel.get_legend_handles_labels()
        named |= dict(zip(names, handles, strict=True))
    if named:
        figure.legend(named.values(), named, loc="outside lower center", ncols=2, frameon=False)
    return figure


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
