"""Reads grids from their YAML files."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from gile_lightning.commands.shipped import SHIPPED
from gile_lightning.common.errors import InputError, nearest
from gile_lightning.reproduction.grid import Check, Claim, Column, Grid, Row

OWN = Path("sweeps/tables")
"""Where grids of the user are, below the folder of the command."""


def read_grid(table: str, folder: Path | None = None) -> Grid:
    """Read the grid of a table by its number or name.

    Args:
        table: the number or the name.
        folder: of the grids; by default those in `OWN`, beside those of the package.

    Raises:
        InputError: there is no such grid, or its file does not fit.
    """
    folders = [SHIPPED / "tables", OWN] if folder is None else [folder]
    files = (path for each in folders for path in each.glob("*.yaml"))
    known = {path.stem.removeprefix("table"): path for path in files}
    if table not in known:
        listed = ", ".join(sorted(known))
        raise InputError(f"--table: {table!r} is none of {listed}{nearest(table, known)}")
    path = known[table]
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not readable as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: give its keys (title, config, columns, rows)")
    for key in ("columns", "rows", "claims", "data", "blocks", "notes"):
        if not isinstance(content.get(key, ()), list | tuple | dict):
            raise InputError(f"{path}: {key}: give a list, not {content[key]!r}")
    content["claims"] = [each for claim in content.get("claims", ()) for each in _apart(claim)]
    parts: dict[str, Any] = {
        key: tuple(_make(kind, _with_tuples(part), path) for part in content.get(key, ()))
        for key, kind in (("columns", Column), ("rows", Row), ("claims", Claim))
    }
    if "check" in content:
        parts["check"] = _make(Check, _with_tuples(content["check"]), path)
    lists = {key: tuple(content[key]) for key in ("data", "blocks", "notes") if key in content}
    if isinstance(content.get("blocks"), Mapping):
        parts["block_set"] = content["blocks"]
    grid: Grid = _make(Grid, {**content, **parts, **lists, "root": path.parents[2]}, path)
    _check(grid, path)
    return grid


def _apart(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Make a claim with several rows one claim of each; ``$row`` and ``$over`` are their names."""
    for key in ("row", "over"):
        names = claim.get(key)
        if isinstance(names, list):
            return [alone for name in names for alone in _apart({**claim, key: name})]
        if "says" in claim:
            claim = {**claim, "says": str(claim["says"]).replace(f"${key}", str(names))}
    return [claim]


def _with_tuples(part: Mapping[str, Any]) -> dict[str, Any]:
    """Make tuples of the lists of names, but not of the paper's figures."""
    names = ("rows", "columns", "blocks")
    return {key: tuple(part[key]) if key in names else part[key] for key in part}


def _make(kind: type[Any], arguments: Mapping[str, Any], path: Path) -> Any:
    known = {part.name for part in fields(kind)}
    for key in arguments:
        if key not in known:
            raise InputError(f"{path}: unknown key {key!r}{nearest(key, known)}")
    try:
        return kind(**arguments)
    except TypeError as error:
        raise InputError(f"{path}: {str(error).partition(') ')[2]}") from error


def _check(grid: Grid, path: Path) -> None:
    names = [row.name for row in grid.rows]
    headings = [column.heading for column in grid.columns]
    says = [part.says for part in grid.claims]
    for part in grid.claims:
        if says.count(part.says) > 1:
            raise InputError(f"{path}: two claims say {part.says!r}")
        _check_names(path, "claims", names, part.row, part.over)
        _check_names(path, "claims", headings, *part.columns)
        _check_names(path, "claims", grid.blocks, *part.blocks)
    for name in (*names, *grid.blocks, *(run for runs in grid.runs.values() for run in runs)):
        if "," in name:
            raise InputError(f"{path}: {name!r} has a comma, which separates names in options")
    if grid.check:
        _check_names(path, "check", names, *grid.check.rows)
        _check_names(path, "check", headings, *grid.check.columns)
        _check_names(path, "check", grid.blocks, *grid.check.blocks)
    for row in grid.rows:
        if names.count(row.name) > 1:
            raise InputError(f"{path}: two rows are called {row.name!r}")
        if row.runs and row.runs not in grid.runs:
            raise InputError(f"{path}: {row.name!r} has runs {row.runs!r}, which is not in 'runs'")
        for block in grid.blocks:
            if len(row.printed(block, len(grid.columns))) != len(grid.columns):
                raise InputError(
                    f"{path}: {row.name!r} needs {len(grid.columns)} figures in 'paper', one for "
                    "each column (null where there is none)"
                )


def _check_names(path: Path, key: str, known: Sequence[str], *names: str) -> None:
    for name in names:
        if name not in known:
            listed = ", ".join(map(repr, known))
            raise InputError(f"{path}: {key}: {name!r} is none of {listed}{nearest(name, known)}")
