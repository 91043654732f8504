"""Writes tables as Markdown, CSV and HTML."""

import csv
import io
from collections.abc import Sequence
from itertools import groupby

from gile_lightning.common.cells import as_text
from gile_lightning.reproduction.grid import Grid
from gile_lightning.reproduction.runner import FAILED
from gile_lightning.reproduction.tables import NO_FIGURE, Cell, Line
from gile_lightning.tracking.page import render

BUILTIN = "built-in"
_BUILTIN_NOTE = (
    "Data: the built-in corpus of invented texts; the paper's figures are not comparable "
    "(--data DIR takes real ones)."
)
_NOTE = (
    "Ours: mean ± standard deviation over the seeds that are done. Parameters: mean per language. "
    "Seconds and training documents per second: mean per fit; fits side by side slow each other."
)

_FEWER_NOTE = (
    "A figure without a deviation is of one seed: fits that it needs have no further ones."
)
_NO_FIGURE_NOTE = (
    f"{NO_FIGURE}: the system has no such figure, as it scores no unseen labels, gives no "
    "probabilities, or has not been run there."
)
_EMPTY_NOTE = "Empty cells: the paper prints no such figure, or there is none to compare it with."


def markdown(grid: Grid, lines: Sequence[Line], data: str) -> str:
    """Return the table as aligned Markdown, block by block.

    Args:
        grid: the table.
        lines: its rows.
        data: name of the corpus.
    """
    parts = [f"# {grid.title}"]
    for block, group in groupby(lines, key=lambda line: line.block):
        if block:
            parts.append(f"## {block}")
        parts.append(_lay_out([_headings(grid), *(x for _, x in _rows(grid, list(group), data))]))
    return "\n\n".join([*parts, *notes(grid, lines, data)]) + "\n"


def records(grid: Grid, lines: Sequence[Line], data: str) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows, per figure four columns: ours, deviation, paper, difference."""
    kinds = ("", " deviation", " paper", " difference")
    headings = ["block", "system", "layer", "data", "seeds", "seeds done"]
    headings += [f"{column.heading}{kind}" for column in grid.columns for kind in kinds]
    headings += ["parameters", "parameters paper", "seconds", "documents per second"]
    rows = []
    for line in lines:
        row = [line.block, line.row.name, line.row.form, _corpus(grid, line, data)]
        row += [str(line.seeds), str(line.done)]
        for cell in line.cells:
            ours = cell.state if cell.mean is None else _plain(cell.mean)
            row += [ours, *map(_plain, (cell.deviation, cell.paper, cell.difference))]
        row += [_plain(line.parameters), line.row.printed_parameters(line.block)]
        rows.append([*row, _plain(line.seconds), _plain(line.speed)])
    return headings, rows


def comma_separated(grid: Grid, lines: Sequence[Line], data: str) -> str:
    """Return the table as CSV, a line per row."""
    headings, rows = records(grid, lines, data)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(as_text, row) for row in (headings, *rows))
    return text.getvalue()


def page(grid: Grid, lines: Sequence[Line], data: str) -> str:
    """Return the table as an HTML page that needs no other file."""
    blocks = []
    for block, group in groupby(lines, key=lambda line: line.block):
        made = []
        for (kind, line), cells in _rows(grid, list(group), data):
            comparable = kind == "difference" and data != BUILTIN
            marks = _marks(grid, line, len(cells)) if comparable else {}
            made.append((kind, [(cell, marks.get(i)) for i, cell in enumerate(cells)]))
        blocks.append((block, made))
    return render(
        "table.html",
        title=grid.title,
        headings=_headings(grid),
        blocks=blocks,
        notes=notes(grid, lines, data),
    )


def notes(grid: Grid, lines: Sequence[Line], data: str) -> list[str]:
    """Return the lines below a table."""
    more = {len(cell.values) for line in lines if line.seeds > 1 for cell in line.cells}
    some = [_FEWER_NOTE] if 1 in more and max(more) > 1 else []
    if any(cell.state == NO_FIGURE for line in lines for cell in line.cells):
        some.append(_NO_FIGURE_NOTE)
    if any(cell.paper is not None for line in lines for cell in line.cells):
        some.append(_EMPTY_NOTE)
    return [*([_BUILTIN_NOTE] if data == BUILTIN else []), _NOTE, *some, *grid.notes]


def _lay_out(cells: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in cells]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]])


def _corpus(grid: Grid, line: Line, data: str) -> str:
    """Return the name of a row's corpus: that of its block where the block has one of its own."""
    return line.block if "data" in grid.block_set.get(line.block, {}) else data


def _forms(grid: Grid) -> bool:
    """Whether a row states its output layer."""
    return any(row.form for row in grid.rows)


def _headings(grid: Grid) -> list[str]:
    first = ["system", *(["layer"] if _forms(grid) else []), "data", "seeds"]
    figures = [column.heading for column in grid.columns]
    return _in_order(grid, first, figures, ["parameters", "seconds", "documents/s"])


def _in_order(
    grid: Grid, first: Sequence[str], figures: Sequence[str], costs: Sequence[str]
) -> list[str]:
    """Put the cells of a row side by side; means over all runs are the last ones."""
    columns = list(zip(figures, grid.columns, strict=True))
    single = [figure for figure, column in columns if not column.over_all_runs]
    means = [figure for figure, column in columns if column.over_all_runs]
    return [*first, *single, *costs, *means]


def _rows(grid: Grid, lines: Sequence[Line], data: str) -> list[tuple[tuple[str, Line], list[str]]]:
    """Return up to three rows of cells for each line: ours, the paper's, the difference."""
    found = []
    for line in lines:
        form = [line.row.form] if _forms(grid) else []
        first = [line.row.name, *form, _corpus(grid, line, data), f"{line.done}/{line.seeds}"]
        blank = [""] * (len(first) - 1)
        last = [_number(line.parameters), _number(line.seconds), _number(line.speed)]
        ours = [_ours(cell) for cell in line.cells]
        found.append((("ours", line), _in_order(grid, first, ours, last)))
        printed = line.row.printed_parameters(line.block)
        if printed or any(cell.paper is not None for cell in line.cells):
            papers = [_number(cell.paper, 2) for cell in line.cells]
            cells = _in_order(grid, ["paper", *blank], papers, [printed, "", ""])
            found.append((("paper", line), cells))
        if any(cell.difference is not None for cell in line.cells):
            signed = [_number(cell.difference, 2, "+") for cell in line.cells]
            cells = _in_order(grid, ["difference", *blank], signed, [""] * 3)
            found.append((("difference", line), cells))
    return found


def _marks(grid: Grid, line: Line, cells: int) -> dict[int, str]:
    """Return the CSS class of each cell that is better or worse than the paper's."""
    marks: list[str] = []
    for column, cell in zip(grid.columns, line.cells, strict=True):
        better = ((cell.difference or 0) > 0) == (column.better == "higher")
        marks.append(("better" if better else "worse") if cell.difference else "")
    first = cells - 3 - len(grid.columns)
    laid = _in_order(grid, [""] * first, marks, [""] * 3)
    return {i: mark for i, mark in enumerate(laid) if mark}


def _ours(cell: Cell) -> str:
    if cell.mean is None:
        return cell.state
    deviation = "" if cell.deviation is None else f" ± {cell.deviation:.2f}"
    missing = " (a seed failed)" if cell.state == FAILED else ""
    return f"{cell.mean:.2f}{deviation}{missing}"


def _number(value: float | None, digits: int = 0, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign},.{digits}f}"


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"
