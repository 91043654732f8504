"""Score a checkpoint on seen, unseen and all labels.

python -m gile_lightning.evaluate --checkpoint RUN [--data.path DIR]
"""

import json
import sys
from typing import Any

from gile_lightning.commands.cli import GileCLI, pop_option, stored_configuration
from gile_lightning.commands.parser import command
from gile_lightning.common.console import count_parameters, say
from gile_lightning.common.errors import InputError
from gile_lightning.fit import announce
from gile_lightning.tracking.tables import flatten, table
from gile_lightning.tracking.wandb_logger import finish
from gile_lightning.training.checkpoint import complete, read_checkpoint, restore, start_from

DESCRIPTION = (
    "Score a checkpoint (--checkpoint RUN, a file or a run folder) on seen, unseen and all labels "
    "of its test documents, or of other data (--data.path DIR). The configuration is the "
    "checkpoint's own; every key of it can be set here. Labels of other data that the model has "
    "not seen are scored by their descriptions."
)


@command
def main(args: list[str] | None = None) -> dict[str, Any]:
    """Run the command; returns the metrics as `fit` writes them."""
    args = list(sys.argv[1:] if args is None else args)
    path = pop_option(args, "--checkpoint")
    if path is None:
        if not {"-h", "--help"} & set(args):
            raise InputError("--checkpoint RUN is needed: a checkpoint file or a run folder")
        GileCLI(args, "python -m gile_lightning.evaluate", DESCRIPTION)
    other_data = any(arg.startswith(("--data", "--config")) for arg in args)
    checkpoint = read_checkpoint(str(path))
    with stored_configuration(checkpoint) as config:
        args = ["--config", config, "--trainer.logger", "false", *args]
        cli = GileCLI(args, "python -m gile_lightning.evaluate", DESCRIPTION)
    if cli.config.data.init_args.get("test_size") == 0 and not other_data:
        raise InputError(
            f"{path}: trained on all its documents (test_size 0), so that none is left to score it "
            "on; give others: --data.path"
        )
    try:
        return evaluate(cli, checkpoint)
    finally:
        finish()


def evaluate(cli: GileCLI, checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Score the checkpoint on the data of the configuration."""
    model, data, trainer = cli.model, cli.datamodule, cli.trainer
    announce(data)
    if complete(checkpoint):
        restore(model, checkpoint)
        data.encode_for_scoring(model.tasks, model.reads_new_words)
    else:  # imported weights: the labels are those of the corpus, perhaps the words too
        start_from(model, data, checkpoint)
    data.prepare_data()
    data.setup("test")
    say(data.summary())
    trainer.test(model, data, verbose=False)
    for name, scores in model.by_language.items():
        if not (scores["seen"]["documents"] or model.scores_unseen(name)):
            raise InputError(
                f"none of the labels of the test documents ({name}) is one of the model's, which "
                "scores no others; weights that were imported without --labels have only numbers"
            )
    figures = {"parameters": count_parameters(model)}
    say(table(model.results, figures, model.by_language, added=model.metrics))
    metrics = flatten(model.results, model.by_language) | figures
    if cli.config.output is not None and trainer.is_global_zero:
        cli.output.mkdir(parents=True, exist_ok=True)
        (cli.output / "metrics.json").write_text(json.dumps(metrics, indent=1))
    return metrics


if __name__ == "__main__":
    main()
