"""Score a checkpoint on seen, unseen and all labels.

python -m gile_lightning.evaluate --checkpoint RUN [--data.path FILE]
"""

import sys
from typing import Any

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.options import option, pop_flag, pop_option
from gile_lightning.commands.parser import command
from gile_lightning.commands.scoring import score
from gile_lightning.commands.stored import data_of, stored_configuration
from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.tracking.wandb_logger import finish
from gile_lightning.training.checkpoint import read_checkpoint

_CHANGES = "label_changes"
PROGRAM = "python -m gile_lightning.evaluate"
DESCRIPTION = (
    "Score a checkpoint (--checkpoint RUN, a file or a run folder) on seen, unseen and all labels "
    "of its test documents, or of other data (--data.path FILE). The configuration is the "
    "checkpoint's own; every key of it can be set here. Labels of other data that the model has "
    "not seen are scored by their descriptions. --rerank ranks the best labels of a document anew, "
    "by the second stage that gile_lightning.rerank has fitted."
)


@command
def main(args: list[str] | None = None) -> dict[str, Any]:
    """Run the command; returns the metrics as `fit` writes them."""
    args = list(sys.argv[1:] if args is None else args)
    path = pop_option(args, "--checkpoint")
    if path is None:
        if not {"-h", "--help"} & set(args):
            raise InputError("--checkpoint RUN is needed: a checkpoint file or a run folder")
        GileCLI(args, PROGRAM, DESCRIPTION)
    rerank = pop_flag(args, "--rerank")
    other_data = any(arg.startswith(("--data", "--config")) for arg in args)
    checkpoint = read_checkpoint(str(path))
    with stored_configuration(checkpoint) as config:
        cli = GileCLI(
            ["--config", config, "--trainer.logger", "false", *args], PROGRAM, DESCRIPTION
        )
    if option(args, f"--data.{_CHANGES}") is None:
        _leave_out_changes(cli, checkpoint)
    if cli.config.data.init_args.get("test_size") == 0 and not other_data:
        raise InputError(
            f"{path}: trained on all its documents (test_size 0), so that none is left to score it "
            "on; give others: --data.path"
        )
    try:
        return score(cli, str(path), checkpoint, rerank)
    finally:
        finish()


def _leave_out_changes(cli: GileCLI, checkpoint: dict[str, Any]) -> None:
    """Leave the run's own label changes out where other documents are scored."""
    own, data = data_of(checkpoint), cli.config.data.init_args
    changes = own.get(_CHANGES)
    same = str(data.get("path")) == str(own.get("path"))
    if same or changes is None or str(data.get(_CHANGES)) != str(changes):
        return
    data[_CHANGES] = cli.datamodule.label_changes = None
    say(
        f"data.{_CHANGES} of the run ({changes}) is not applied to these documents; give it again "
        "if their labels have old names"
    )


if __name__ == "__main__":
    main()
