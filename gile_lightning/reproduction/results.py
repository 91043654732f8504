"""Result pages: the figures of a table as data, and the page that shows them.

``NAME.json`` has the figures by seed, the command and the machine. ``NAME.md`` is made of it, of
the grid and of nothing else, down to a mark; what is written by hand below the mark stays.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gile_lightning.common.console import clock
from gile_lightning.common.errors import InputError
from gile_lightning.common.files import write, write_above
from gile_lightning.common.formats import check_format
from gile_lightning.common.machine import describe
from gile_lightning.reproduction.claims import NOTE, claims_table
from gile_lightning.reproduction.grid import Check, Fit, Grid
from gile_lightning.reproduction.runner import FAILED
from gile_lightning.reproduction.tables import Cell, Line
from gile_lightning.reproduction.writers import BUILTIN, markdown

MARK = "<!-- Above: written by `reproduce --page`. Below: by hand, and kept. -->"
PICTURE = ".svg"
RESULTS_FORMAT = 1
"""The number of the data's format. Raise it when `read_results` would misread older files."""


@dataclass(frozen=True)
class Results:
    """The figures of a table, and how they were made.

    Attributes:
        table: number or name of the table.
        rows: names of the rows that were asked for; None for all.
        blocks: names of the blocks; None for all.
        seeds: fits per cell.
        overrides: settings of every fit.
        data: name of the corpus.
        date: day on which the page was made.
        machine: processor and libraries, then and there.
        hours: of all fits together.
        lines: the rows: ``block``, ``row``, ``cells`` (a list of figures by seed, or the state of a
            cell without any), ``failed`` (places of cells of which a seed failed), ``done``,
            ``seeds``, ``parameters``, ``seconds``, ``speed``.
        repeat: names of the runs with further seeds than the first; None for all.
        jobs: fits at a time; None for one per GPU or core.
        claims: the intervals of statements over test documents, see `over_documents`.
    """

    table: str
    rows: list[str] | None
    blocks: list[str] | None
    seeds: int
    overrides: dict[str, str]
    data: str
    date: str
    machine: str
    hours: float
    lines: list[dict[str, Any]]
    repeat: list[str] | None = None
    jobs: int | None = None
    claims: list[dict[str, Any]] = field(default_factory=list)

    def command(self, grid: Grid) -> str:
        """Return the command that makes the figures, with DIR for folders of data."""
        parts = ["--table", self.table]
        for option, names in (("--rows", self.rows), ("--blocks", self.blocks)):
            parts += [option, ",".join(names)] if names is not None else []
        parts += ["--seeds", str(self.seeds)]
        parts += ["--repeat", ",".join(self.repeat)] if self.repeat is not None else []
        parts += ["--jobs", str(self.jobs)] if self.jobs is not None else []
        if self.data != BUILTIN:
            for key in grid.data:
                parts += ["--data" if key == "path" else f"--{key}", "DIR"]
        if self.overrides:
            parts += [
                "--",
                *(x for key in self.overrides for x in (f"--{key}", self.overrides[key])),
            ]
        return f"python -m gile_lightning.reproduce {shlex.join(parts)}"

    def check(self, grid: Grid) -> Check | None:
        """Return what to run anew: what the grid says, where these results have it.

        Results of other rows or blocks are checked by the first that they have.
        """
        if grid.check is None:
            return None

        def held(key: str, names: Sequence[str]) -> tuple[str, ...]:
            there = dict.fromkeys(line[key] for line in self.lines)
            return tuple(name for name in names if name in there) or tuple(there)[:1]

        check = grid.check
        return replace(check, rows=held("row", check.rows), blocks=held("block", check.blocks))

    def table_lines(self, grid: Grid) -> list[Line]:
        """Return the rows as `build` does, with the paper's figures of the grid.

        Raises:
            InputError: the grid has changed since: it lacks a row, or has other columns.
        """
        rows = {row.name: row for row in grid.rows}
        found = []
        for line in self.lines:
            if line["row"] not in rows or len(line["cells"]) != len(grid.columns):
                raise InputError(f"table {self.table} has changed: run it again")
            row = rows[line["row"]]
            printed = row.printed(line["block"], len(grid.columns))
            failed = line.get("failed", ())
            cells = tuple(
                Cell((), figure, paper)
                if isinstance(figure, str)
                else Cell(tuple(figure), FAILED if i in failed else "", paper)
                for i, (figure, paper) in enumerate(zip(line["cells"], printed, strict=True))
            )
            rest = {key: line[key] for key in ("done", "seeds", "parameters", "seconds", "speed")}
            found.append(Line(line["block"], row, cells, **rest))
        return found


def results_of(
    table: str,
    chosen: Mapping[str, Any],
    data: str,
    fits: Sequence[Fit],
    seconds: Mapping[str, float],
    lines: Sequence[Line],
    claims: Sequence[dict[str, Any]] = (),
) -> Results:
    """Return the figures of a table that was run here and now.

    Args:
        table: number or name of the table.
        chosen: ``rows``, ``blocks``, ``seeds``, ``repeat``, ``jobs`` and ``overrides`` of the
            command.
        data: name of the corpus.
        fits: the fits of the table.
        seconds: of each fit that is done, by key.
        lines: the rows of the table.
        claims: the intervals of its statements over test documents.
    """
    kept = [
        {
            "block": line.block,
            "row": line.row.name,
            "cells": [_rounded(cell.values) or cell.state for cell in line.cells],
            "failed": [i for i, x in enumerate(line.cells) if x.values and x.state == FAILED],
            "done": line.done,
            "seeds": line.seeds,
            "parameters": line.parameters,
            "seconds": None if line.seconds is None else round(line.seconds, 1),
            "speed": None if line.speed is None else round(line.speed, 1),
        }
        for line in lines
    ]
    hours = sum(seconds.get(key, 0.0) for key in {fit.key for fit in fits}) / 3600
    day = datetime.now(UTC).date().isoformat()
    return Results(
        table,
        **dict(chosen),
        data=data,
        date=day,
        machine=describe(),
        hours=round(hours, 2),
        lines=kept,
        claims=list(claims),
    )


def write_results(page: Path, results: Results, grid: Grid) -> None:
    """Write a page, and beside it its data and its figure.

    What is below the mark of an older page stays.
    """
    content = {"format": RESULTS_FORMAT, **asdict(results)}
    lines = ",\n  ".join(json.dumps(line, ensure_ascii=False) for line in content.pop("lines"))
    head = json.dumps(content, indent=1, ensure_ascii=False).removesuffix("\n}")
    write(page.with_suffix(".json"), f'{head},\n "lines": [\n  {lines}\n ]\n}}\n')
    if grid.figure:
        from gile_lightning.reproduction.figure import draw

        picture = draw(grid, results.table_lines(grid), results.data, PICTURE.removeprefix("."))
        write(page.with_suffix(PICTURE), picture)
    write_above(page, shown(results, grid, page.stem), MARK)


def read_results(path: Path) -> Results:
    """Read what `write_results` wrote: the data, or the data beside a page.

    Raises:
        InputError: there is no such file, or it is of another kind or a newer format.
    """
    path = path.with_suffix(".json")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        check_format(path, content.pop("format"), RESULTS_FORMAT, "run the table again")
        return Results(**content)
    except OSError as error:
        raise InputError(f"{path}: not readable: {error.strerror}") from error
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not what `reproduce --page` writes ({error})") from error


def shown(results: Results, grid: Grid, name: str) -> str:
    """Return the page down to the mark.

    Args:
        results: the figures.
        grid: their table.
        name: of the page.
    """
    lines = results.table_lines(grid)
    parts = [markdown(grid, lines, results.data).rstrip()]
    if grid.figure:
        parts.append(f"![{grid.title}]({name}{PICTURE})")
    if grid.claims and (told := claims_table(grid, lines, results.claims)):
        parts += ["## Claims", told, NOTE]
    parts += ["## How it was made", f"    {results.command(grid)}"]
    parts.append(
        f"Made on {results.date} with {results.machine}. All fits together: "
        f"{clock(3600 * results.hours)}. The figures of each seed: [{name}.json]({name}.json)."
    )
    if check := results.check(grid):
        every = ", ".join([*filter(None, check.blocks), *check.rows, *check.columns])
        parts.append(
            f"`reproduce --check docs/results/{name}.json` runs a part anew ({every}). A figure "
            f"may differ by {check.tolerance:g}, or by twice its deviation over seeds if that is "
            "more."
        )
    return "\n\n".join([*parts, ""])


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in values]
