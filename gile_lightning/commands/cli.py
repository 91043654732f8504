"""The command line that `fit`, `evaluate` and `prepare` share."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import lightning
import yaml
from jsonargparse import dict_to_namespace
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.accelerators import MPSAccelerator
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI

from gile_lightning.commands.parser import ErrorFirst
from gile_lightning.common.console import ProgressBar, Sizes, quiet, say
from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.factories import check_parts, describe
from gile_lightning.common.guard import end_with_parent
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.systems.system import STATE, System
from gile_lightning.tracking.history import History
from gile_lightning.tracking.wandb_logger import RunLogger
from gile_lightning.training.callbacks import (
    FiniteLoss,
    LanguageCheckpoint,
    LastCheckpoint,
    PlateauEarlyStopping,
    language_score,
)
from gile_lightning.training.checkpoint import BEST, LAST, AtomicCheckpointIO

CONFIG = "config.yaml"
# what is taken from the configuration in a checkpoint
_STORED = (
    "seed_everything",
    "model",
    "data",
    "early_stopping",
    "wandb",
    "checkpoint_every",
    "test",
)
_RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID")  # 0 in the first process
_STARTER = "GILE_LIGHTNING_STARTER"  # the process that starts the others of its node


class Parser(ErrorFirst, LightningArgumentParser):
    """The parser of the commands that take a whole configuration."""

    more_help = "; --model.help NeuralSystem and --data.help CLASS those of a part"


class GileCLI(LightningCLI):
    """One configuration: trainer, model, data, and where the run is kept.

    Args:
        args: the arguments, by default those of the process.
        prog: the command, for messages.
        description: what the command does, for ``--help``.
    """

    output_help = "Run folder; by default runs/NAME/TIME, NAME being that of the configuration."

    def __init__(self, args: list[str] | None, prog: str, description: str) -> None:
        quiet()
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
            parser_kwargs={"prog": prog, "description": description, "allow_abbrev": False},
            trainer_defaults={"use_distributed_sampler": False, "enable_model_summary": False},
        )

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parse; the process' own arguments stay as they are, for DDP to start others with."""
        if "." not in (option(list(args or ()), "--model") or "."):
            import gile_lightning.systems.baselines  # noqa: F401  so that their names are known

        self.config = parser.parse_args(args)
        for name, keys in sorted(dropped(self.config)):
            say(f"{name} does not take {', '.join(keys)} of the configuration: left out")

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add the keys of a run: where it is kept, when it stops, what is tracked."""
        parser.add_argument(
            "--output",
            type=Path | None,
            default=None,
            help=self.output_help,
        )
        parser.add_argument(
            "--ckpt_path",
            type=str | None,
            default=None,
            help="Checkpoint to go on from; `last` is that of --output, or of the newest run.",
        )
        parser.add_argument(
            "--start_from",
            type=str | None,
            default=None,
            help="Checkpoint or run to begin with: its weights, vocabulary and configuration.",
        )
        parser.add_argument(
            "--checkpoint_every",
            type=int,
            default=1000,
            help="Training steps between two checkpoints within an epoch.",
        )
        parser.add_argument(
            "--test",
            type=bool,
            default=True,
            help="Score the best checkpoint on the test documents after training.",
        )
        parser.add_class_arguments(
            PlateauEarlyStopping, "early_stopping", skip={"metrics"}, instantiate=False
        )
        parser.add_class_arguments(RunLogger, "wandb", skip={"directory"}, instantiate=False)
        self.add_sweep_arguments(parser)
        parser.set_defaults({"model": {"class_path": "gile_lightning.systems.neural.NeuralSystem"}})
        parser.link_arguments("seed_everything", "model.init_args.seed", compute_fn=_seed)
        parser.link_arguments("seed_everything", "data.init_args.seed", compute_fn=_seed)

    def add_sweep_arguments(self, parser: LightningArgumentParser) -> None:
        """Accept the section of `sweep`, which other commands leave alone."""
        parser.add_argument(
            "--sweep",
            type=dict | None,
            default=None,
            help="What the command `sweep` does; not used by this one.",
        )

    def before_instantiate_classes(self) -> None:
        """Settle on the run folder, and check what is named, before anything is made."""
        positive(checkpoint_every=self.config.checkpoint_every)
        check_parts([self.config.model, self.config.data])
        self.output, self.resume = self._run_folder()

    def instantiate_classes(self) -> None:
        """Make model, data and trainer; what they refuse, the configuration has to mend."""
        try:
            super().instantiate_classes()
        except (MisconfigurationException, ValueError) as error:
            raise InputError(_reason(error)) from error

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
                if (Path(output) / "metrics.json").is_file():
                    raise InputError(
                        f"{output}: done, and without {LAST} to go on from; begin with its weights "
                        f"(--start_from {output}) and another --output"
                    )
                say(f"{output} has no checkpoint yet: starting from the beginning")
            return Path(output), last if last.is_file() else None
        if path is not None and not Path(path).is_file():
            raise InputError(f"{path}: no such checkpoint (--ckpt_path)")
        if output is None:
            # of several processes each takes its own time; that of the first one counts, which
            # alone writes
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
        options: dict[str, Any] = {
            "dirpath": self.output / BEST.parent,
            "mode": stopping.mode,
            "enable_version_counter": False,
        }
        best = [ModelCheckpoint(filename=BEST.stem, monitor=stopping.monitor, **options)]
        if len(names := self.datamodule.names) > 1:  # languages are best in different epochs
            for name in names:
                monitor = language_score(stopping.monitor, name)
                options |= {"filename": best_of(name).stem, "monitor": monitor}
                best.append(LanguageCheckpoint(name, **options))
        self.history = History(self.output)
        self.trainer_defaults["callbacks"] = [
            PlateauEarlyStopping(**stopping, metrics=self.model.metrics),
            self.history,
            Sizes(),
            *([] if self.config.trainer.enable_progress_bar is False else [ProgressBar()]),
            FiniteLoss(),
            *best,
            LastCheckpoint(self.output, self.config.checkpoint_every),
        ]
        chosen = self.config_init.trainer.get("accelerator")
        if chosen in (None, "auto") and MPSAccelerator.is_available():
            say("computing on the CPU: MPS lacks float64 (--trainer.accelerator mps tries it)")
            kwargs["accelerator"] = "cpu"
        plugins = [*(self.config_init.trainer.get("plugins") or []), AtomicCheckpointIO()]
        trainer: lightning.Trainer = super().instantiate_trainer(
            logger=logger, plugins=plugins, **kwargs
        )
        return trainer

    def resolved(self, config: Any = None) -> str:
        """Return a whole configuration as YAML, without what belongs to this run alone.

        Args:
            config: what the parser has returned; by default for this command.
        """
        plain = (config or self.config).clone()
        for key, value in list(plain.items()):
            if isinstance(value, partial):  # a default of ours, for which the parser has no words
                plain[key] = dict_to_namespace(describe(value))
        stored = yaml.safe_load(self.parser.dump(plain, skip_none=False))
        for key in ("config", "output", "ckpt_path", "sweep"):
            stored.pop(key, None)
        return yaml.safe_dump(stored, sort_keys=False)


def best_of(language: str) -> Path:
    """Return where a run folder keeps the best epoch of one of several languages."""
    return BEST.with_stem(f"{BEST.stem}-{language}")


@contextmanager
def stored_configuration(checkpoint: dict[str, Any]) -> Iterator[str]:
    """Write the configuration in a checkpoint to a file, but for the machine that trained.

    What it names is checked first: see `gile_lightning.common.factories.Part`.

    Raises:
        InputError: it names something else, or there is none.
    """
    stored = yaml.safe_load(checkpoint[STATE]["config"])
    if not isinstance(stored, dict):
        raise InputError("the checkpoint holds no configuration: gile_lightning.fit stores it")
    stored = {key: value for key, value in stored.items() if key in _STORED}
    check_parts(stored)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "checkpoint.yaml"
        file.write_text(yaml.safe_dump(stored), encoding="utf-8")
        yield str(file)


def dropped(config: Any) -> set[tuple[str, tuple[str, ...]]]:
    """Find the keys in the files of a configuration that a class chosen later does not take.

    The parser leaves them out when a class path takes the place of another.

    Args:
        config: what the parser has returned.

    Returns:
        The classes and the keys that each of them lacks.
    """
    found: set[tuple[str, tuple[str, ...]]] = set()

    def compare(given: Any, final: Any) -> None:
        if not (isinstance(given, dict) and isinstance(final, dict)):
            return
        if "class_path" in final:
            name, final = final["class_path"], final.get("init_args") or {}
            given = given.get("init_args") or {k: x for k, x in given.items() if k != "class_path"}
            if lacking := tuple(key for key in given if key not in final):
                found.add((name, lacking))
        for key in given.keys() & final.keys():
            compare(given[key], final[key])

    final = config.as_dict()
    for file in config.get("config") or ():
        compare(yaml.safe_load(Path(str(file)).read_text(encoding="utf-8")), final)
    return found


def option(args: list[str], key: str) -> str | None:
    """Return the value of an option among the arguments."""
    return pop_option(list(args), key)


def pop_option(args: list[str], key: str) -> str | None:
    """Take an option and its value out of the arguments."""
    for i, arg in enumerate(args):
        if arg == key and i + 1 < len(args):
            del args[i]
            return args.pop(i)
        if arg.startswith(f"{key}="):
            return args.pop(i).partition("=")[2]
    return None


def _reason(error: BaseException) -> str:
    """Return our own words, if such an error is behind this one, else the error's."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, InputError):
        cause = cause.__cause__
    return " ".join(str(cause or error).split())


def _seed(value: Any) -> int:
    return int(value) if not isinstance(value, bool) else 1234


def _is_worker() -> bool:
    """Whether this is one of several processes, and not the first, by what launchers say."""
    return any(os.environ.get(key, "0") != "0" for key in _RANKS)


def _end_with_starter() -> None:
    """Let a process that Lightning or torchrun has started end when its starter is killed."""
    if "LOCAL_RANK" not in os.environ:
        os.environ[_STARTER] = str(os.getpid())
    elif "TORCHELASTIC_RUN_ID" in os.environ:
        end_with_parent(os.getppid())
    elif os.environ["LOCAL_RANK"] != "0" and _STARTER in os.environ:
        end_with_parent(int(os.environ[_STARTER]))
