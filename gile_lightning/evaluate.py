"""Score a checkpoint on seen, unseen and all labels.

python -m gile_lightning.evaluate --checkpoint RUN [--data.path FILE]
"""

import sys
from typing import Any

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.options import option, pop_flag, pop_option
from gile_lightning.commands.parser import command
from gile_lightning.commands.scoring import score
from gile_lightning.commands.stored import setting_of_data, stored_configuration
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
    others = option(args, "--data.path") is not None
    without = (_CHANGES,) if others else ()  # they are for the run's own documents
    with stored_configuration(checkpoint, without) as config:
        cli = GileCLI(
            ["--config", config, "--trainer.logger", "false", *args], PROGRAM, DESCRIPTION
        )
    left_out = setting_of_data(checkpoint, _CHANGES) if others else None
    if left_out is not None and cli.config.data.get(f"init_args.{_CHANGES}") is None:
        say(
            f"data.{_CHANGES} of the run ({left_out}) is not applied to these documents; give it "
            "again if their labels have old names"
        )
    if cli.config.data.init_args.get("test_size") == 0 and not other_data:
        raise InputError(
            f"{path}: trained on all its documents (test_size 0), so that none is left to score it "
            "on; give others: --data.path"
        )
    try:
        return score(cli, str(path), checkpoint, rerank)
    finally:
        finish()


if __name__ == "__main__":
    main()
