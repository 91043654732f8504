"""The low-resource protocol: train on ever larger parts of one language's documents.

python -m gile_lightning.low_resource --config sweeps/dw.yaml --language german --output DIR
"""

import sys
from pathlib import Path
from typing import Any

from gile_lightning.commands.options import pop_option
from gile_lightning.commands.parser import command
from gile_lightning.common.console import MANNERS
from gile_lightning.common.errors import InputError

DESCRIPTION = """usage: python -m gile_lightning.low_resource --language TARGET --output OUTPUT \
[--levels tiny,small,medium] [what fit takes]

Trains the model of a configuration on 0.1 to 0.5 (tiny), 1 to 5 (small) and 10 to 50 % (medium) of
the target language's training documents, all documents of the other languages beside them, and
prints its micro-F1 at the threshold 0.3, averaged per level (paper, Table 7). Smaller parts are
subsets of larger ones. A run that is done is not repeated; one that was cut off is continued.
It sets data.train_share and model.threshold itself, whatever a configuration says of them.
What a run prints is in the log.txt of its folder.

"""


@command
def main(args: list[str] | None = None) -> dict[str, Any]:
    """Run the command; returns what `low_resource.json` holds."""
    args = list(sys.argv[1:] if args is None else args)
    if {"-h", "--help"} & set(args):
        print(DESCRIPTION + MANNERS)
        sys.exit(0)
    # --help need not wait for torch
    from gile_lightning.reproduction.low_resource import LEVELS, run_levels

    language, output = pop_option(args, "--language"), pop_option(args, "--output")
    levels = (pop_option(args, "--levels") or ",".join(LEVELS)).split(",")
    if language is None or output is None:
        raise InputError("--language TARGET and --output DIR are needed")
    return run_levels(args, language, levels, Path(output).expanduser())


if __name__ == "__main__":
    main()
