"""Run a table of the paper as a grid of fits and print it beside the published figures.

python -m gile_lightning.reproduce --table 2 --rows "WAN,GILE-WAN"
"""

import sys
from dataclasses import replace
from pathlib import Path

from gile_lightning.commands.parser import command
from gile_lightning.common.console import complain, show
from gile_lightning.reproduction.grid_file import read_grid
from gile_lightning.reproduction.options import corpus, read_options
from gile_lightning.reproduction.outputs import listed, listing, log_table, write_table
from gile_lightning.reproduction.runner import Runner
from gile_lightning.reproduction.tables import build
from gile_lightning.reproduction.writers import markdown, records


@command
def main(args: list[str] | None = None) -> Path:
    """Run the command; returns the folder of the table. Status 1 if a fit has failed."""
    options = read_options(list(sys.argv[1:] if args is None else args))
    grid = read_grid(options.table)
    name, overrides = corpus(grid, options.data, options.word_vectors)
    grid = replace(grid, set={**overrides, **grid.set})  # a run of another corpus names its own
    fits = grid.fits(options.seeds, options.overrides, options.rows, options.blocks)
    folder = options.output / options.label
    runner = Runner(options.output / "fits", options.jobs, group=options.label)
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
    found = [dict(zip(headings, row, strict=True)) for row in rows]
    show("\n" + markdown(grid, lines, name), table=options.label, rows=found)
    log_table(grid, fits, runner, folder, name)
    show(f"table: {folder}", output=folder)
    if runner.failed:
        raise SystemExit(1)
    return folder


if __name__ == "__main__":
    main()
