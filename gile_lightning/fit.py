"""Train one model, test its best checkpoint, leave a run folder.

python -m gile_lightning.fit --config sweeps/bioasq.yaml
"""

import sys
from contextlib import ExitStack
from typing import Any

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.fitting import fit
from gile_lightning.commands.options import option
from gile_lightning.commands.parser import command
from gile_lightning.commands.run_folder import run_name
from gile_lightning.commands.stored import stored_configuration
from gile_lightning.common.errors import InputError
from gile_lightning.systems.loading import start_from
from gile_lightning.tracking.wandb_logger import finish
from gile_lightning.training.checkpoint import read_checkpoint

DESCRIPTION = (
    "Train one model, test its best checkpoint on seen, unseen and all labels, and leave a run "
    "folder with the configuration, checkpoints and metrics. --start_from RUN trains a model "
    "further, on the same or other data: it begins with that checkpoint's weights, vocabulary and "
    "configuration, every key of which can be set here, and keeps its labels (--keep)."
)

_START = "--start_from"
# keys of the data that were for that run alone
_DONE = ("held_out_labels", "label_changes", "replay")


@command
def main(args: list[str] | None = None) -> dict[str, Any]:
    """Run the command; returns what `metrics.json` holds."""
    args = list(sys.argv[1:] if args is None else args)
    with ExitStack() as stack:
        start = option(args, _START)
        if start is not None:
            config = stack.enter_context(
                stored_configuration(read_checkpoint(start, _START), _DONE, run_name(start))
            )
            args = ["--config", config, *args]
        cli = GileCLI(args, "python -m gile_lightning.fit", DESCRIPTION)
    if cli.config.start_from is not None:  # perhaps from the configuration of such a run
        checkpoint = read_checkpoint(cli.config.start_from, _START)
        start_from(cli.model, cli.datamodule, checkpoint, cli.config.keep)
    elif getattr(cli.datamodule, "replay", 0):
        raise InputError(
            "data.replay needs the run whose documents it draws: give --start_from RUN"
        )
    try:
        return fit(cli)
    finally:
        finish()


if __name__ == "__main__":
    main()
