"""Run a table of the paper as a grid of fits and print it beside the published figures.

python -m gile_lightning.reproduce --table 2 --rows "WAN,GILE-WAN"
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gile_lightning.commands.parser import ErrorFirst, command
from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError, positive
from gile_lightning.reproduction import writers
from gile_lightning.reproduction.estimate import clock, estimate
from gile_lightning.reproduction.grid import Fit, Grid
from gile_lightning.reproduction.grid_file import read_grid
from gile_lightning.reproduction.runner import DONE, Runner
from gile_lightning.reproduction.tables import build
from gile_lightning.tracking.page import write

DESCRIPTION = (
    "Run a table of the paper, row by row and seed by seed, and print it beside the published "
    "figures. Without --data it runs on the built-in corpus, whose figures say nothing about the "
    "paper's. Whatever is done is not repeated: start the same command again to go on after a "
    "crash. A fit is known by its arguments: where the files below --data have changed, choose "
    "another --output. What follows a lone -- is given to every fit of the rows (--rows), such as "
    "-- --trainer.max_epochs 3"
)
_FORMATS: dict[str, Callable[..., str]] = {
    "md": writers.markdown,
    "csv": writers.comma_separated,
    "html": writers.page,
}
_PICTURES = ("png", "svg")
_OURS = ("config", "output", "ckpt_path", "seed_everything", "data.path", "data.word_vectors")


@command
def main(args: list[str] | None = None) -> Path:
    """Run the command; returns the folder of the table. Status 1 if a fit has failed."""
    args = list(sys.argv[1:] if args is None else args)
    end = args.index("--") if "--" in args else len(args)
    for key in (arg.partition("=")[0] for arg in args[:end] if arg.startswith("--")):
        if "." in key:
            raise InputError(f"{key}: keys of the fits go behind a lone --, as in -- {key} VALUE")
    options = _parser().parse_args(args[:end])
    grid = read_grid(options.table)
    formats = _formats(options.format)
    positive(seeds=options.seeds)
    name, overrides = corpus(grid, options.data, options.word_vectors)
    overrides |= further(args[end + 1 :])
    fits = grid.fits(options.seeds, overrides, _names(options.rows), _names(options.blocks))
    number = options.table
    label = f"table{number}" if number.isdigit() else number
    output = Path(options.output)
    runner = Runner(output / "fits", options.jobs, group=label)
    if options.dry_run:
        say(listing(fits, runner))
        return output / label

    def update() -> None:
        write_table(grid, fits, runner, output / label, name, formats)

    update()
    try:
        runner.run(fits, update)
    except (KeyboardInterrupt, SystemExit):
        say("stopped; start the same command again to go on")
        raise
    finally:
        update()
    say("\n" + writers.markdown(grid, build(grid, fits, runner.result), name))
    _log(grid, fits, runner, output / label, name)
    say(f"table: {output / label}")
    if runner.failed:
        raise SystemExit(1)
    return output / label


def corpus(grid: Grid, data: str | None, word_vectors: str | None) -> tuple[str, dict[str, Any]]:
    """Return the name of the corpus and the overrides that choose it."""
    given = {"path": ("--data", data), "word_vectors": ("--word_vectors", word_vectors)}
    for key, (option, value) in given.items():
        if value is not None and key not in grid.data:
            raise InputError(f"{option}: not for this table, whose data need only --data")
        if value is not None and not Path(value).exists():
            raise InputError(f"{value}: no such folder ({option})")
    for key, (option, value) in given.items():
        if value is None and key in grid.data and (data or word_vectors):
            raise InputError(f"{option} DIR is needed too: the data of this table are two folders")
    if data is None:
        return writers.BUILTIN, dict(grid.builtin)
    paths = {f"data.{key}": str(Path(str(given[key][1])).resolve()) for key in grid.data}
    return Path(paths["data.path"]).name, paths


def further(args: list[str]) -> dict[str, str]:
    """Read ``--KEY VALUE`` and ``--KEY=VALUE`` pairs for every fit."""
    found: dict[str, str] = {}
    rest = list(args)
    while rest:
        key, equals, value = rest.pop(0).partition("=")
        if not key.startswith("--") or not (equals or rest):
            raise InputError(f"{key}: expected --KEY VALUE pairs after --")
        key = key.removeprefix("--")
        if key in _OURS:
            raise InputError(
                f"--{key} is not for single fits: give --data, --word_vectors, --output or "
                "--seeds before --"
            )
        found[key] = value if equals else rest.pop(0)
    return found


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
        else "a first guess: what such fits took on the built-in corpus, on two CPU cores"
    )
    jobs = f"{runner.launcher.jobs} at a time, {clock(left / runner.launcher.jobs)} to go"
    return "\n".join([*lines, f"{len(unique)} fits, {jobs} ({basis})"])


def write_table(
    grid: Grid, fits: list[Fit], runner: Runner, folder: Path, data: str, formats: list[str]
) -> None:
    """Write the table as it stands, and the figure if there is one."""
    lines = build(grid, fits, runner.result)
    for kind in formats:
        if kind in _FORMATS:
            write(folder / f"table.{kind}", _FORMATS[kind](grid, lines, data))
        elif grid.figure:
            from gile_lightning.reproduction.figure import draw

            write(folder / f"figure.{kind}", draw(grid, lines, data, kind))


def _log(grid: Grid, fits: list[Fit], runner: Runner, folder: Path, data: str) -> None:
    """Log the table to W&B."""
    import wandb

    from gile_lightning.tracking.wandb_logger import RunLogger, default_mode

    if default_mode() == "disabled":
        return
    headings, rows = writers.records(grid, build(grid, fits, runner.result), data)
    try:
        RunLogger(folder, name=folder.name).log_results({}, headings, rows)
    finally:
        wandb.finish()


def _parser() -> ErrorFirst:
    parser = ErrorFirst(
        prog="python -m gile_lightning.reproduce", description=DESCRIPTION, allow_abbrev=False
    )
    parser.options = "--table NAME [--KEY VALUE ...] [-- --KEY VALUE ...]"
    add = parser.add_argument
    add("--table", required=True, help="2, 3, 4, 5, 6, 7, figure or ablation (sweeps/tables/).")
    add("--rows", help="Names of rows, with commas between them; by default all.")
    add("--blocks", help="Names of the table's parts, such as general or german; by default all.")
    add("--seeds", type=int, default=3, help="Fits per cell, each with another seed.")
    add(
        "--data",
        help="Folder of the corpus: BioASQ for table 2 and the ablation, DW for the others.",
    )
    add("--word_vectors", help="Folder of the word vectors of DW.")
    add("--output", default="runs/reproduce", help="Folder of the fits and tables.")
    add("--jobs", type=int | None, help="Fits at a time; by default one per GPU or CPU core.")
    add("--format", default="md,csv,html,png,svg", help="Files to write.")
    add("--dry_run", action="store_true", help="List the fits and how long they will take.")
    return parser


def _formats(text: str) -> list[str]:
    known = (*_FORMATS, *_PICTURES)
    formats = text.split(",")
    for kind in formats:
        if kind not in known:
            raise InputError(f"--format: {kind!r} is none of {', '.join(known)}")
    return formats


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


if __name__ == "__main__":
    main()
