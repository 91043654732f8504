"""Say whether two systems differ by more than chance.

python -m gile_lightning.compare RUN RUN
"""

import json
from pathlib import Path

from gile_lightning.commands.parser import command, parse
from gile_lightning.common.errors import InputError


def compare(first: str, second: str, resamples: int = 10_000, output: Path | None = None) -> None:
    """Say whether two systems differ by more than chance.

    Both are scored anew on their test documents, which must be the same. For each set of labels and
    each metric it prints the difference, its 95 % interval by a paired bootstrap over documents,
    and where the systems differ most.

    Args:
        first: a run folder or checkpoint; or several of other seeds, with commas between them,
            whose figures are averaged.
        second: the same of the other system.
        resamples: draws of the bootstrap.
        output: a JSON file for the figures.
    """
    # --help need not wait for torch
    from gile_lightning.commands.comparing import compare_runs
    from gile_lightning.commands.comparison import plain, shown
    from gile_lightning.common.console import show
    from gile_lightning.common.files import write

    output = output and output.expanduser()
    if output is not None and output.is_dir():
        raise InputError(f"{output}: a folder; give a file (--output figures.json)")
    if resamples < 100:
        raise InputError(f"resamples is {resamples}: give 100 at least")
    found = compare_runs(first.split(","), second.split(","), resamples)
    show(f"\nfirst: {first}\nsecond: {second}\n", *shown(found), **plain(found))
    if output is not None:
        write(output, json.dumps(plain(found), indent=1))


@command
def main(args: list[str] | None = None) -> None:
    """Run the command."""
    compare(**parse(compare, args, "python -m gile_lightning.compare", positional=True))


if __name__ == "__main__":
    main()
