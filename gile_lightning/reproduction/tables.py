"""Builds a table from the figures of its fits."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import fmean, stdev
from typing import Any

from gile_lightning.reproduction.grid import Column, Fit, Grid, Row, filled, runs_of
from gile_lightning.reproduction.runner import DONE, FAILED, RUNNING, WAITING

NO_FIGURE = "n/a"  # the system has none, such as scores of unseen labels

Result = tuple[str, dict[str, Any] | None]
"""The state of a fit, and its figures if it is done."""

Values = dict[int, float | str]
"""A figure by seed, or the state of a fit that has none."""


@dataclass(frozen=True)
class Cell:
    """A figure: ours, over the seeds that are done, and the paper's.

    Attributes:
        values: ours, one per seed.
        state: shown in place of a missing figure.
        paper: the paper's; None if it has none.
    """

    values: tuple[float, ...] = ()
    state: str = WAITING
    paper: float | None = None

    @property
    def mean(self) -> float | None:
        """The mean over seeds."""
        return fmean(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation over seeds (of a sample), None with fewer than two."""
        return stdev(self.values) if len(self.values) > 1 else None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.mean is None or self.paper is None else self.mean - self.paper


@dataclass(frozen=True)
class Line:
    """One row of a table.

    Attributes:
        block: the block of the table that it belongs to.
        row: the row of the grid.
        cells: a figure per column.
        done: number of seeds whose fits are all done.
        seeds: number of seeds.
        parameters: mean number of parameters per language, None before a fit is done.
        seconds: mean seconds of a fit.
        speed: mean number of training documents per second.
    """

    block: str
    row: Row
    cells: tuple[Cell, ...]
    done: int
    seeds: int
    parameters: float | None
    seconds: float | None
    speed: float | None


def build(grid: Grid, fits: Sequence[Fit], result: Callable[[str], Result]) -> list[Line]:
    """Build the rows of a table.

    Args:
        grid: the table.
        fits: the fits of the rows and blocks that were chosen.
        result: returns the state and the figures of a fit by its key.
    """
    results = {fit.key: result(fit.key) for fit in fits}
    groups: dict[tuple[str, str], list[Fit]] = {}
    for fit in fits:
        groups.setdefault((fit.block, fit.row.name), []).append(fit)
    values = {key: _row_values(grid, group, results) for key, group in groups.items()}
    lines = []
    for (block, name), group in groups.items():
        found = list(values[block, name])
        for i, column in enumerate(grid.columns):
            if column.relative_to is not None:
                base = values.get((block, column.relative_to))
                found[i] = _relative(found[i], base[i] if base else {})
        lines.append(_line(grid, group, found, results))
    return lines


def _row_values(grid: Grid, fits: Sequence[Fit], results: Mapping[str, Result]) -> list[Values]:
    """Return a row's figures by column and seed: of a seed only where it has all runs they need."""
    row, block = fits[0].row, fits[0].block
    every = {fit.run for fit in fits}
    columns: list[Values] = []
    for column in grid.columns:
        key = filled(column.key_of(row), block)
        values: Values = {}
        for seed in sorted({fit.seed for fit in fits}):
            runs = {fit.run: results[fit.key] for fit in fits if fit.seed == seed}
            if column.mean:
                if all(seed in before for before in columns):
                    values[seed] = _mean([before[seed] for before in columns])
            elif not runs_of(key, every - runs.keys()):
                values[seed] = _value(column, key, runs)
        columns.append(values)
    return columns


def _value(column: Column, key: str, runs: Mapping[str, Result]) -> float | str:
    """Return the mean of the figures that a key matches."""
    chosen = [runs[name] for name in runs if name in runs_of(key, runs)]
    key = key.rpartition(":")[2]
    found: list[float | str] = []
    for state, metrics in chosen:
        if metrics is None:
            found.append(state)
        else:
            found += [value for name, value in metrics.items() if fnmatchcase(name, key)]
    mean = _mean(found)
    return mean if isinstance(mean, str) else mean * (100 if column.percent else 1)


def _mean(values: Sequence[float | str]) -> float | str:
    """Return the mean, or the state of the first figure that is missing."""
    for state in (FAILED, RUNNING, WAITING, NO_FIGURE):
        if state in values:
            return state
    numbers = [float(value) for value in values]
    return fmean(numbers) if numbers and all(x == x for x in numbers) else NO_FIGURE


def _relative(values: Values, base: Values) -> Values:
    """Return the excess over the values of the same seed in another row, in percent."""
    found: Values = {}
    for seed, value in values.items():
        other = base.get(seed, NO_FIGURE)
        both = _mean([value, other])
        if isinstance(both, str) or not other:
            found[seed] = both if isinstance(both, str) else NO_FIGURE
        else:
            found[seed] = 100 * (float(value) / float(other) - 1)
    return found


def _line(
    grid: Grid, fits: Sequence[Fit], values: Sequence[Values], results: Mapping[str, Result]
) -> Line:
    row, block = fits[0].row, fits[0].block
    cells = []
    for column, paper in zip(values, row.printed(block, len(grid.columns)), strict=True):
        numbers = tuple(x for x in column.values() if not isinstance(x, str))
        state = _mean(list(column.values()))
        cells.append(Cell(numbers, state if isinstance(state, str) else "", paper))
    seeds = {fit.seed for fit in fits}
    open_seeds = {fit.seed for fit in fits if results[fit.key][0] != DONE}
    done = [(fit, metrics) for fit in fits if (metrics := results[fit.key][1]) is not None]
    return Line(
        block,
        row,
        tuple(cells),
        len(seeds - open_seeds),
        len(seeds),
        _mean_of(done, lambda fit, metrics: metrics["parameters"] / fit.languages),
        _mean_of(done, lambda fit, metrics: metrics["seconds"]),
        _mean_of(done, lambda fit, metrics: metrics["documents_per_second"]),
    )


def _mean_of(
    done: Sequence[tuple[Fit, dict[str, Any]]], value: Callable[[Fit, dict[str, Any]], Any]
) -> float | None:
    """Return the mean over runs of their means over seeds; None if no fit has the value."""
    found: dict[str, list[float]] = {}
    for fit, metrics in done:
        with suppress(KeyError, TypeError):  # it has none
            if (number := float(value(fit, metrics))) == number:
                found.setdefault(fit.run, []).append(number)
    return fmean(map(fmean, found.values())) if found else None
