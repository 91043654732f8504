"""The command line that `fit`, `evaluate` and `prepare` share."""

import functools
import re
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import jsonargparse
import lightning
import yaml
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI

from gile_lightning.callbacks import LastCheckpoint, PlateauEarlyStopping
from gile_lightning.checkpoint import BEST, LAST, AtomicCheckpointIO
from gile_lightning.classifier import TextClassifier
from gile_lightning.data.module import DocumentDataModule
from gile_lightning.errors import InputError, nearest, positive
from gile_lightning.tracking.history import History
from gile_lightning.tracking.wandb_logger import RunLogger

CONFIG = "config.yaml"


class ErrorFirst(jsonargparse.ArgumentParser):
    """A parser that says what is wrong first, and how to get help last."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Print the error with the nearest known key, then the usage, and leave with status 2."""
        if not self.exit_on_error:
            super().error(message, ex)
        program = self.prog.replace(" [options]", "")
        sys.stderr.write(f"error: {message}{self._suggestion(message)}\n")
        sys.stderr.write(f"usage: {program} [--config FILE] [--KEY VALUE ...]\n")
        sys.stderr.write(f"       {program} --help lists every key\n")
        sys.exit(2)

    def _suggestion(self, message: str) -> str:
        unknown = re.findall(r"(?:[Kk]ey|Unrecognized arguments:) *[\"'`]?(?:--)?([\w.]+)", message)
        known = {re.sub(r"\.(init_args|dict_kwargs)", "", key) for key in self._known_keys()}
        for key in unknown:
            short = re.sub(r"\.(init_args|dict_kwargs)", "", key)
            if short not in known:
                return nearest(short, known) or nearest(
                    short.rpartition(".")[2], {k.rpartition(".")[2] for k in known}
                )
        return ""

    def _known_keys(self) -> set[str]:
        keys = {action.dest for action in self._actions}
        for kind, prefix in (
            (TextClassifier, "model"),
            (lightning.Trainer, "trainer"),
            *((cls, "data") for cls in _subclasses(DocumentDataModule)),
        ):
            keys |= {f"{prefix}.{name}" for name in _parameters(kind)}
        return keys


class Parser(ErrorFirst, LightningArgumentParser):
    """The parser of the commands that take a whole configuration."""


def _subclasses(kind: type) -> set[type]:
    return {kind}.union(*(_subclasses(child) for child in kind.__subclasses__()))


def _parameters(kind: type) -> list[str]:
    from jsonargparse._parameter_resolvers import get_signature_parameters

    return [parameter.name for parameter in get_signature_parameters(kind, "__init__")]


class GileCLI(LightningCLI):
    """One configuration: trainer, model, data, and where the run is kept.

    Args:
        args: the arguments, by default those of the process.
        prog: the command, for messages.
        description: what the command does, for ``--help``.
    """

    def __init__(self, args: list[str] | None, prog: str, description: str) -> None:
        args = sys.argv[1:] if args is None else args
        # LightningCLI warns where both exist; these are the ones that count
        sys.argv = [sys.argv[0]]
        super().__init__(
            TextClassifier,
            DocumentDataModule,
            subclass_mode_data=True,
            save_config_callback=None,
            seed_everything_default=1234,
            args=args,
            run=False,
            load_from_checkpoint_support=False,
            auto_configure_optimizers=False,
            parser_class=Parser,
            parser_kwargs={"prog": prog, "description": description},
            trainer_defaults={"use_distributed_sampler": False},
        )

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add the keys of a run: where it is kept, when it stops, what is tracked."""
        parser.add_argument(
            "--output",
            type=Path | None,
            default=None,
            help="Run folder; by default runs/NAME/TIME, NAME being that of the configuration.",
        )
        parser.add_argument(
            "--ckpt_path",
            type=str | None,
            default=None,
            help="Checkpoint to go on from; `last` is that of --output, or of the newest run.",
        )
        parser.add_argument(
            "--checkpoint_every",
            type=int,
            default=1000,
            help="Training steps between two checkpoints within an epoch.",
        )
        parser.add_class_arguments(PlateauEarlyStopping, "early_stopping", instantiate=False)
        parser.add_class_arguments(RunLogger, "wandb", skip={"directory"}, instantiate=False)
        parser.add_argument(
            "--sweep", type=dict | None, default=None, help="Search space; not used by this command."
        )
        parser.link_arguments("seed_everything", "model.seed", compute_fn=_seed)
        parser.link_arguments("seed_everything", "data.init_args.seed", compute_fn=_seed)

    def before_instantiate_classes(self) -> None:
        """Settle on the run folder before anything is made."""
        positive(checkpoint_every=self.config.checkpoint_every)
        self.output, self.resume = self._run_folder()

    def _run_folder(self) -> tuple[Path, Path | None]:
        config = self.config.get("config") or []
        stem = Path(str(config[0])).stem if config else "fit"
        output = self.config.output
        path = self.config.ckpt_path
        if path == "last":
            if output is None:
                runs = sorted(Path("runs", stem).glob(f"*/{LAST}"), key=lambda p: p.stat().st_mtime)
                if not runs:
                    raise InputError(f"runs/{stem}: no run to go on with; name it with --output")
                output = runs[-1].parent.parent
            elif not (Path(output) / CONFIG).is_file():
                raise InputError(f"{output}: no run there to go on with (--ckpt_path last)")
            last = Path(output) / LAST
            if not last.is_file():
                print(f"{output} has no checkpoint yet: starting from the beginning", flush=True)
            return Path(output), last if last.is_file() else None
        if path is not None and not Path(path).is_file():
            raise InputError(f"{path}: no such checkpoint (--ckpt_path)")
        if output is None:
            output = Path("runs", stem, datetime.now().strftime("%Y-%m-%d_%H-%M-%S"))
        elif (Path(output) / CONFIG).is_file() and not _is_worker():
            raise InputError(
                f"{output}: holds a run already; go on with it (--ckpt_path last) or choose "
                "another --output"
            )
        return Path(output), Path(path) if path else None

    def instantiate_trainer(self, **kwargs: Any) -> lightning.Trainer:
        """Make the trainer with the callbacks and the logger of a run folder."""
        wanted = self.config_init.trainer.get("logger")
        logger = wanted
        if wanted in (None, True):
            logger = RunLogger(self.output, **self.config_init.wandb)
        stopping = self.config_init.early_stopping
        best = ModelCheckpoint(
            dirpath=self.output / BEST.parent,
            filename=BEST.stem,
            monitor=stopping.monitor,
            mode=stopping.mode,
            enable_version_counter=False,
        )
        self.history = History(self.output)
        self.trainer_defaults["callbacks"] = [
            PlateauEarlyStopping(**stopping),
            self.history,
            best,
            LastCheckpoint(self.output, self.config.checkpoint_every),
        ]
        plugins = [*(self.config_init.trainer.get("plugins") or []), AtomicCheckpointIO()]
        trainer: lightning.Trainer = super().instantiate_trainer(
            logger=logger, plugins=plugins, **kwargs
        )
        return trainer

    def resolved(self) -> str:
        """Return the whole configuration as YAML, without what belongs to this run alone."""
        text = self.parser.dump(self.config, skip_none=False)
        config = yaml.safe_load(text)
        for key in ("config", "output", "ckpt_path"):
            config.pop(key, None)
        return yaml.safe_dump(config, sort_keys=False)


def _seed(value: Any) -> int:
    return int(value) if not isinstance(value, bool) else 1234


def _is_worker() -> bool:
    """Whether this is a process that another one started for DDP."""
    import os

    return os.environ.get("LOCAL_RANK", "0") != "0"


def command(main: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command print a user's mistake without a traceback and leave with status 2."""

    @functools.wraps(main)
    def run(args: list[str] | None = None) -> Any:
        try:
            return main(args)
        except InputError as error:
            sys.stderr.write(f"error: {error}\n")
            sys.exit(2)

    return run
