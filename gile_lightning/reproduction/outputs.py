"""Lists the fits of a table, writes the table and logs it to W&B."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gile_lightning.common.console import clock, say
from gile_lightning.common.errors import InputError
from gile_lightning.common.files import write
from gile_lightning.reproduction import writers
from gile_lightning.reproduction.estimate import estimate
from gile_lightning.reproduction.grid import Fit, Grid
from gile_lightning.reproduction.runner import DONE, Runner
from gile_lightning.reproduction.tables import build

_WRITERS: dict[str, Callable[..., str]] = {
    "md": writers.markdown,
    "csv": writers.comma_separated,
    "html": writers.page,
}


def listing(fits: list[Fit], runner: Runner) -> str:
    """List the fits with their state and how long they will take."""
    unique = {fit.key: fit for fit in reversed(fits)}
    expected, measured = estimate(fits, runner.seconds(fits))
    lines, left = [], 0.0
    for key, fit in reversed(unique.items()):
        state = runner.result(key)[0]
        if state != DONE:
            state = "begun" if runner.begun(key) else "new"
            left += expected[key]
        lines.append(f"{state:5}  {clock(expected[key]):>10}  {fit}: {key}")
        lines.append(f"       {' '.join(fit.arguments)}")
    basis = (
        "from the fits that are done"
        if measured
        else "a first guess, from the built-in corpus on two CPU cores"
    )
    jobs = f"{runner.launcher.jobs} at a time, {clock(left / runner.launcher.jobs)} to go"
    return "\n".join([*lines, f"{len(unique)} fits, {jobs} ({basis})"])


def listed(fits: list[Fit], runner: Runner) -> list[dict[str, Any]]:
    """Return the fits as plain values, with the seconds that they will take in all."""
    expected, _ = estimate(fits, runner.seconds(fits))
    unique = {fit.key: fit for fit in fits}
    return [
        {
            **{"fit": str(fit), "key": key, "done": runner.result(key)[0] == DONE},
            **{"seconds": expected[key], "arguments": list(fit.arguments)},
        }
        for key, fit in unique.items()
    ]


def write_table(
    grid: Grid, fits: list[Fit], runner: Runner, folder: Path, data: str, formats: list[str]
) -> None:
    """Write the table as it stands, and the figure if there is one.

    Raises:
        InputError: pictures alone are wanted of a table without a figure.
    """
    if not grid.figure and _WRITERS.keys().isdisjoint(formats):
        wanted = ",".join(formats)
        raise InputError(f"--format {wanted}: this table has no figure; take md, csv or html")
    lines = build(grid, fits, runner.result)
    for kind in formats:
        if kind in _WRITERS:
            write(folder / f"table.{kind}", _WRITERS[kind](grid, lines, data))
        elif grid.figure:
            from gile_lightning.reproduction.figure import draw

            write(folder / f"figure.{kind}", draw(grid, lines, data, kind))


def log_table(grid: Grid, fits: list[Fit], runner: Runner, folder: Path, data: str) -> None:
    """Log the table to W&B, if it answers: the table is written already."""
    from gile_lightning.tracking.wandb_logger import RunLogger, default_mode, finish

    if default_mode() == "disabled":
        return
    headings, rows = writers.records(grid, build(grid, fits, runner.result), data)
    try:
        RunLogger(folder, name=folder.name).log_results({}, headings, rows)
    except Exception as error:  # of many kinds
        say(f"no W&B run of the table: {' '.join(str(error).split())}")
    finally:
        finish()
