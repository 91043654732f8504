"""The command line that `fit`, `evaluate`, `prepare` and `sweep` share."""

import os
import sys
from argparse import SUPPRESS
from collections.abc import Iterable
from functools import partial
from os.path import isfile
from pathlib import Path
from typing import Any

import lightning
import yaml
from jsonargparse import dict_to_namespace
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI

from gile_lightning.commands.options import classes_first, option
from gile_lightning.commands.parser import ErrorFirst
from gile_lightning.commands.run_folder import run_folder
from gile_lightning.commands.shipped import read_configuration
from gile_lightning.commands.stored import dropped_keys
from gile_lightning.commands.trainer import callbacks, check_processes, trainer_options
from gile_lightning.common.console import MANNERS, leave_out_noise, say
from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.factories import check_parts, describe
from gile_lightning.common.guard import end_with_parent
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.systems import System
from gile_lightning.tracking.history import History
from gile_lightning.tracking.wandb_logger import RunLogger
from gile_lightning.training.callbacks import PlateauEarlyStopping
from gile_lightning.training.length import TrainingLength

_STARTER = "GILE_LIGHTNING_STARTER"  # the process that starts the others of its node

# the keys of a run: type, default and help
_OPTIONS: dict[str, tuple[Any, Any, str]] = {
    "ckpt_path": (
        str | None,
        None,
        "Checkpoint to go on from; `last` is that of --output, or of the newest run.",
    ),
    "start_from": (
        str | None,
        None,
        "Checkpoint or run to begin with: its weights, vocabulary and configuration.",
    ),
    "keep": (
        bool,
        True,
        "Labels of start_from, and what its model knows of its documents, stay; false takes its "
        "weights for another label set.",
    ),
    "checkpoint_every": (int, 1000, "Training steps between two checkpoints within an epoch."),
    "length": (
        TrainingLength | None,
        None,
        "Chooses the epochs by the number of documents, without trainer.max_epochs and max_steps.",
    ),
    "test": (bool, True, "Score the best checkpoint on the test documents after training."),
}


class Parser(ErrorFirst, LightningArgumentParser):
    """The parser of the commands that take a whole configuration."""

    more_help = "; --model.help NeuralSystem and --data.help CLASS those of a part"

    def dump(self, namespace: Any, *args: Any, **kwargs: Any) -> str:
        """Write a configuration; a default that is a `partial` becomes a class with arguments."""
        plain = namespace.clone()
        for key, value in list(plain.items()):
            if isinstance(value, partial):
                plain[key] = dict_to_namespace(describe(value))
        text: str = super().dump(plain, *args, **kwargs)
        return text


class GileCLI(LightningCLI):
    """One configuration: trainer, model, data, and the run folder.

    Args:
        args: the arguments, by default those of the process.
        prog: the command, for messages.
        description: what the command does, for ``--help``.

    Attributes:
        output: the run folder.
        resume: the checkpoint to go on from, if any.
        history: the callback that records the epochs.
    """

    output_help = "Run folder; by default runs/NAME/TIME, NAME being that of the configuration."

    def __init__(self, args: list[str] | None, prog: str, description: str) -> None:
        leave_out_noise()
        _end_with_starter()
        super().__init__(
            System,
            TextDataModule,
            subclass_mode_model=True,
            subclass_mode_data=True,
            save_config_callback=None,
            seed_everything_default=1234,
            args=args,
            run=False,
            load_from_checkpoint_support=False,
            auto_configure_optimizers=False,
            parser_class=Parser,
            parser_kwargs={
                **{"prog": prog, "description": description, "epilog": MANNERS},
                "allow_abbrev": False,
            },
            trainer_defaults={"use_distributed_sampler": False, "enable_model_summary": False},
        )

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parse, and say which keys of a file the chosen classes lack.

        The arguments of the process stay as they are: DDP starts the other processes with them.
        """
        args = classes_first(sys.argv[1:] if args is None else args)
        self._path_given = option(args, "--data.path")
        if "." not in (option(args, "--model") or "."):
            # a class by its bare name: the parser finds only imported ones
            import gile_lightning.systems.baselines  # noqa: F401

        self.config = parser.parse_args(args)
        # now, as the configuration of a checkpoint is in a file that goes
        self._named_data = named_data(str(path.absolute) for path in self.config.config or ())
        for name, keys in sorted(dropped_keys(self.config)):
            say(f"{name} does not take {', '.join(keys)} of the configuration: left out")

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add the keys of a run: its folder, when it stops, and what is tracked."""
        # hidden, so that what is written does not have it: the file's keys are all there
        parser.add_argument("--base", type=str | None, default=None, help=SUPPRESS)
        parser.add_argument("--output", type=Path | None, default=None, help=self.output_help)
        for name, (kind, default, text) in _OPTIONS.items():
            parser.add_argument(f"--{name}", type=kind, default=default, help=text)
        parser.add_class_arguments(
            PlateauEarlyStopping, "early_stopping", skip={"metrics"}, instantiate=False
        )
        parser.add_class_arguments(RunLogger, "wandb", skip={"directory"}, instantiate=False)
        self.add_sweep_arguments(parser)
        parser.set_defaults({"model": {"class_path": "gile_lightning.systems.NeuralSystem"}})
        parser.link_arguments("seed_everything", "model.init_args.seed", compute_fn=_seed)
        parser.link_arguments("seed_everything", "data.init_args.seed", compute_fn=_seed)

    def add_sweep_arguments(self, parser: LightningArgumentParser) -> None:
        """Accept the section of `sweep`, which other commands ignore."""
        text = "What the command `sweep` does; not used by this one."
        parser.add_argument("--sweep", type=dict | None, default=None, help=text)

    def before_instantiate_classes(self) -> None:
        """Choose the run folder, and check the named classes, before anything is made."""
        positive(checkpoint_every=self.config.checkpoint_every)
        check_parts([self.config.model, self.config.data])
        self.output, self.resume = run_folder(self.config)

    def instantiate_classes(self) -> None:
        """Make model, data and trainer.

        Raises:
            InputError: one of them refuses its configuration.
        """
        try:
            super().instantiate_classes()
        except (MisconfigurationException, ValueError) as error:
            raise InputError(_reason(error)) from error

    def check_path(self, data: Any) -> None:
        """Check that the data are those that were named.

        Raises:
            InputError: a configuration or an option has named another (`data.path`), which a later
                configuration takes away.
        """
        named = self._named_data
        if self._path_given is not None:
            none = self._path_given in ("null", "None")
            named = None if none else ("--data.path", self._path_given)
        if named is not None and self.config.data.get("init_args.path", "") is None:
            file, path = named
            source = "the configuration of the run" if self._of_run(file) else file
            invented = getattr(data, "builtin", False)
            own = "invented texts" if invented else f"the corpus of {type(data).__name__}"
            raise InputError(
                f"{source} names data ({path}), but a later configuration names none (data.path: "
                f"null), so {own} would take their place: give the configuration that names your "
                "data last, or --data.path behind it (null if that is meant)"
            )

    def announce(self, data: Any) -> None:
        """Say when the corpus is the built-in one; see `check_path` for errors."""
        self.check_path(data)
        if getattr(data, "builtin", False):
            say(
                "No --data.path: using the built-in corpus of invented texts. Its figures say "
                "nothing about real ones."
            )

    def _of_run(self, file: str) -> bool:
        """Return whether a configuration was that of a checkpoint, whose file is gone."""
        return file != "--data.path" and not isfile(file)

    def instantiate_trainer(self, **kwargs: Any) -> lightning.Trainer:
        """Make the trainer with the callbacks and the logger of a run folder."""
        self.history = History(self.output)
        self.trainer_defaults["callbacks"] = callbacks(
            self.output, self.config_init, self.history, self.model, self.datamodule.names
        )
        options = kwargs | trainer_options(self.output, self.config_init)
        trainer: lightning.Trainer = super().instantiate_trainer(**options)
        check_processes(trainer)
        return trainer

    def resolved(self, config: Any = None) -> str:
        """Return the whole configuration as YAML, without the keys of this run alone.

        Args:
            config: a parsed configuration; by default that of this command.
        """
        stored = yaml.safe_load(self.parser.dump(config or self.config, skip_none=False))
        for key in ("config", "output", "ckpt_path", "sweep"):
            stored.pop(key, None)
        return yaml.safe_dump(stored, sort_keys=False)


def named_data(configurations: Iterable[str]) -> tuple[str, str] | None:
    """Return the last configuration that names data, and their path; None if none does."""
    found = None
    for file in configurations:
        data = read_configuration(file).get("data")
        settings = data.get("init_args", data) if isinstance(data, dict) else None
        if isinstance(settings, dict) and settings.get("path") is not None:
            found = file, str(settings["path"])
    return found


def _reason(error: BaseException) -> str:
    """Return the message of our own error behind this one, else the error's."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, InputError):
        cause = cause.__cause__
    return " ".join(str(cause or error).split())


def _seed(value: Any) -> int:
    return int(value) if not isinstance(value, bool) else 1234


def _end_with_starter() -> None:
    """Let a process that Lightning or torchrun has started end when its starter is killed."""
    if "LOCAL_RANK" not in os.environ:
        os.environ[_STARTER] = str(os.getpid())
    elif "TORCHELASTIC_RUN_ID" in os.environ:
        end_with_parent(os.getppid())
    elif os.environ["LOCAL_RANK"] != "0" and _STARTER in os.environ:
        end_with_parent(int(os.environ[_STARTER]))
