"""Train one model, test its best checkpoint, leave a run folder.

python -m gile_lightning.fit --config sweeps/bioasq.yaml
"""

import sys
from typing import Any

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.fitting import fit
from gile_lightning.commands.parser import command
from gile_lightning.commands.starting import begin, with_earlier_configuration
from gile_lightning.tracking.wandb_logger import finish

DESCRIPTION = (
    "Train one model, test its best checkpoint on seen, unseen and all labels, and leave a run "
    "folder with the configuration, checkpoints and metrics. --start_from RUN trains a model "
    "further, on the same or other data: it begins with that checkpoint's weights, vocabulary and "
    "configuration, every key of which can be set here, and keeps its labels (--keep)."
)


@command
def main(args: list[str] | None = None) -> dict[str, Any]:
    """Run the command; returns what `metrics.json` holds."""
    args = list(sys.argv[1:] if args is None else args)
    with with_earlier_configuration(args) as args:
        cli = GileCLI(args, "python -m gile_lightning.fit", DESCRIPTION)
    begin(cli)
    try:
        return fit(cli)
    finally:
        finish()


if __name__ == "__main__":
    main()
