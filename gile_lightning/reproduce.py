"""Run a table of the paper as a grid of fits and print it beside the published figures.

python -m gile_lightning.reproduce --table 2 --rows "WAN,GILE-WAN"
"""

import sys
from dataclasses import replace
from pathlib import Path

from gile_lightning.commands.parser import command
from gile_lightning.common.console import complain, show
from gile_lightning.common.errors import InputError
from gile_lightning.reproduction.checking import reads_folders, run_check
from gile_lightning.reproduction.claims import over_documents
from gile_lightning.reproduction.grid import Grid
from gile_lightning.reproduction.grid_file import read_grid
from gile_lightning.reproduction.options import Options, corpus, read_options
from gile_lightning.reproduction.outputs import listed, listing, log_table, write_table
from gile_lightning.reproduction.results import read_results, results_of, write_results
from gile_lightning.reproduction.runner import FITS, Runner
from gile_lightning.reproduction.tables import build
from gile_lightning.reproduction.writers import BUILTIN, markdown, records

CHOSEN = ("rows", "blocks", "seeds", "repeat", "jobs", "overrides")  # options that a page states


@command
def main(args: list[str] | None = None) -> Path:
    """Run the command; returns the folder of the table. Status 1 if a fit has failed."""
    options = read_options(list(sys.argv[1:] if args is None else args))
    if options.check is not None:
        return check(options, options.check)
    grid, name = grid_on_corpus(options.table, options)
    fits = grid.fits(options.seeds, options.overrides, options.rows, options.blocks, options.repeat)
    folder = options.output / options.label
    runner = Runner(options.output / FITS, options.jobs, group=options.label)
    if options.dry_run:
        show(listing(fits, runner), fits=listed(fits, runner))
        return folder

    def update() -> None:
        write_table(grid, fits, runner, folder, name, options.formats)

    update()
    try:
        runner.run(fits, update)
    except (KeyboardInterrupt, SystemExit):
        complain("stopped; start the same command again to continue")
        raise
    finally:
        update()
    lines = build(grid, fits, runner.result)
    headings, rows = records(grid, lines, name)
    if options.page is not None:
        chosen = {key: getattr(options, key) for key in CHOSEN}
        seconds = runner.seconds(fits)
        claims = over_documents(grid, fits, runner.documents)
        results = results_of(options.table, chosen, name, fits, seconds, lines, claims)
        write_results(options.page, results, grid)
    found = [dict(zip(headings, row, strict=True)) for row in rows]
    show("\n" + markdown(grid, lines, name), table=options.label, rows=found)
    show(f"table: {folder}", output=folder)
    log_table(grid, fits, runner, folder, name)
    if runner.failed:
        raise SystemExit(1)
    return folder


def grid_on_corpus(table: str, options: Options) -> tuple[Grid, str]:
    """Return a table with the overrides of the chosen corpus, and the name of the corpus."""
    grid = read_grid(table)
    name, overrides = corpus(grid, options.data, options.word_vectors)
    # a run of another corpus names its own
    return replace(grid, set={**overrides, **grid.set}), name


def check(options: Options, path: Path) -> Path:
    """Run a small part of a table anew; status 1 if a figure no longer comes out.

    Raises:
        InputError: the results are of another corpus than the one that is given.
    """
    results = read_results(path)
    grid, name = grid_on_corpus(results.table, options)
    other = BUILTIN in (name, results.data) and name != results.data
    if other and (results.data == BUILTIN or reads_folders(read_grid(results.table), results)):
        need = "leave --data out" if results.data == BUILTIN else "give its folder as --data DIR"
        raise InputError(f"{path} has figures of the {results.data} corpus: {need}")
    folder = options.output / f"check_{path.stem}"
    compared = run_check(grid, results, folder, options.jobs)
    show("\n".join(map(str, compared)), figures=[each._asdict() for each in compared])
    if not all(each.within for each in compared):
        raise SystemExit(1)
    return folder


if __name__ == "__main__":
    main()
