"""Score a checkpoint on seen, unseen and all labels.

python -m gile_lightning.evaluate --checkpoint RUN [--data.path DIR]
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import wandb
import yaml

from gile_lightning.checkpoint import read_checkpoint, restore
from gile_lightning.classifier import STATE
from gile_lightning.cli import GileCLI
from gile_lightning.console import count_parameters, say
from gile_lightning.errors import InputError
from gile_lightning.fit import announce
from gile_lightning.parser import command
from gile_lightning.tracking.report import flatten, table

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
    path = _take(args, "--checkpoint")
    if path is None:
        if not {"-h", "--help"} & set(args):
            raise InputError("--checkpoint RUN is needed: a checkpoint file or a run folder")
        GileCLI(args, "python -m gile_lightning.evaluate", DESCRIPTION)
    checkpoint = read_checkpoint(str(path))
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "checkpoint.yaml"
        stored = yaml.safe_load(checkpoint[STATE]["config"])
        stored.pop("trainer", None)  # of the machine that trained
        config.write_text(yaml.safe_dump(stored), encoding="utf-8")
        args = ["--config", str(config), "--trainer.logger", "false", *args]
        cli = GileCLI(args, "python -m gile_lightning.evaluate", DESCRIPTION)
    try:
        return evaluate(cli, checkpoint)
    finally:
        wandb.finish()


def evaluate(cli: GileCLI, checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Score the checkpoint on the data of the configuration."""
    model, data, trainer = cli.model, cli.datamodule, cli.trainer
    restore(model, checkpoint)
    announce(data)
    data.use(model.languages)
    data.prepare_data()
    data.setup("test")
    say(data.summary())
    trainer.test(model, data, verbose=False)
    figures = {"parameters": count_parameters(model)}
    say(table(model.results, figures))
    metrics = flatten(model.results) | figures
    if cli.config.output is not None and trainer.is_global_zero:
        cli.output.mkdir(parents=True, exist_ok=True)
        (cli.output / "metrics.json").write_text(json.dumps(metrics, indent=1))
    return metrics


def _take(args: list[str], key: str) -> str | None:
    """Take an option and its value out of the arguments."""
    for i, arg in enumerate(args):
        if arg == key and i + 1 < len(args):
            del args[i]
            return args.pop(i)
        if arg.startswith(f"{key}="):
            return args.pop(i).partition("=")[2]
    return None


if __name__ == "__main__":
    main()
