"""Runs a small part of a table anew, and holds it against the figures that are kept."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from gile_lightning.commands.launcher import lock
from gile_lightning.common.errors import InputError
from gile_lightning.reproduction.grid import Check, Column, Fit, Grid, runs_of
from gile_lightning.reproduction.results import Results
from gile_lightning.reproduction.runner import FITS, Runner
from gile_lightning.reproduction.tables import build

_FOLDER = "DIR"  # stands for a folder of the corpus


class Compared(NamedTuple):
    """A figure that is kept, and the one of now: None if its fit has failed."""

    block: str
    row: str
    column: str
    kept: float
    now: float | None
    tolerance: float

    @property
    def within(self) -> bool:
        """Whether both differ by no more than the tolerance."""
        return self.now is not None and abs(self.now - self.kept) <= self.tolerance

    def __str__(self) -> str:
        """Say both and whether they agree."""
        name = ", ".join(filter(None, (self.row, self.block, self.column)))
        if self.now is None:
            return f"FAILED  {name}: kept {self.kept:.2f}, no figure now"
        verdict = "within" if self.within else "OUTSIDE"
        difference = f"{self.now - self.kept:+.2f}, tolerance {self.tolerance:.3g}"
        both = f"kept {self.kept:.2f} of the first seed, now {self.now:.2f}"
        return f"{verdict:7} {name}: {both} ({difference})"


def check_fits(grid: Grid, results: Results) -> tuple[Check, list[Fit]]:
    """Return what the grid says is to be checked, and the fits that it takes: one seed of each.

    Raises:
        InputError: the grid does not say what to check.
    """
    if (check := results.check(grid)) is None:
        raise InputError(f"table {results.table}: its grid has no 'check'")
    columns = [column for column in grid.columns if column.heading in check.columns]
    fits = grid.fits(1, results.overrides, check.rows, check.blocks)
    return check, [fit for fit in fits if any(_feeds(fit, column) for column in columns)]


def reads_folders(grid: Grid, results: Results) -> bool:
    """Whether a check reads the folders of the table's corpus; some read built-in ones alone."""
    folders = {f"data.{key}": _FOLDER for key in grid.data}
    _, fits = check_fits(replace(grid, set={**folders, **grid.set}), results)
    return any(_FOLDER in fit.arguments for fit in fits)


def run_check(grid: Grid, results: Results, folder: Path, jobs: int | None) -> list[Compared]:
    """Run the part of a table anew that its grid names, and compare it with the figures kept.

    Args:
        grid: the table, with the overrides of its corpus.
        results: the figures that are kept.
        folder: of the check; the fits that an earlier one left there are removed.
        jobs: fits at a time.

    Raises:
        InputError: the grid does not say what to check, the results lack a figure of it, or another
            command checks in the same folder.
    """
    check, fits = check_fits(grid, results)
    kept = {(line.block, line.row.name): line for line in results.table_lines(grid)}
    if (held := lock(folder)) is None:
        raise InputError(f"{folder}: another command checks this page; choose another --output")
    with held:
        shutil.rmtree(folder / FITS, ignore_errors=True)
        runner = Runner(folder / FITS, jobs)
        runner.run(fits, lambda: None)
    found = []
    for line in build(grid, fits, runner.result):
        if (line.block, line.row.name) not in kept:
            raise InputError(
                f"the results lack {line.row.name} {line.block}, which is to be checked"
            )
        before = kept[line.block, line.row.name]
        if before.done < before.seeds:
            raise InputError(f"{line.row.name} is not complete in the results: run the table again")
        for column, old, new in zip(grid.columns, before.cells, line.cells, strict=True):
            if column.heading in check.columns and old.values:
                now = new.values[0] if new.values else None
                place = (line.block, line.row.name, column.heading)
                # another processor rounds otherwise, and a fit may then differ as another seed does
                tolerance = max(check.tolerance, 2 * (old.deviation or 0.0))
                found.append(Compared(*place, old.values[0], now, tolerance))
    if not found:
        raise InputError("the results have none of the figures that are to be checked")
    return found


def _feeds(fit: Fit, column: Column) -> bool:
    """Whether a fit has a part in a column."""
    return bool(runs_of(column.key_of(fit.row), [fit.run]))
