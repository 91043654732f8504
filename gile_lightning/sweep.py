"""Search for the best settings: a study of many fits.

python -m gile_lightning.sweep --config sweeps/bioasq.yaml
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock
from jsonargparse import ArgumentError
from lightning.pytorch.cli import LightningArgumentParser
from lightning.pytorch.utilities import rank_zero_only

from gile_lightning.commands.cli import GileCLI, Parser, announce
from gile_lightning.commands.launcher import Launcher
from gile_lightning.commands.parser import command
from gile_lightning.common import processes
from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.factories import instantiate
from gile_lightning.search import study as studies
from gile_lightning.search.attempt import Plan
from gile_lightning.search.progress import Progress
from gile_lightning.search.results import write_results
from gile_lightning.search.settings import Search
from gile_lightning.search.space import Setting, Space, Value, arguments, in_order, read_space
from gile_lightning.search.storage import (
    default_url,
    open_storage,
    quiet_optuna,
    without_password,
)
from gile_lightning.search.worker import Worker

DESCRIPTION = (
    "Search for the best settings, as the sweep section of a configuration says. Every trial is a "
    "fit in a process of its own. The same command goes on with a study that was stopped, and any "
    "number of them, on as many machines as reach its storage, work on one study together."
)

_OURS = ("output", "ckpt_path", "start_from", "config", "sweep", "wandb", "test", "jobs", "devices")


class SweepCLI(GileCLI):
    """A configuration with its `sweep` section; nothing is made of it but a study.

    Args:
        args: the arguments of the command.
    """

    parser: Parser
    output_help = "The study's folder; by default runs/sweeps/NAME, NAME being that of the study."

    def __init__(self, args: list[str]) -> None:
        self.given = args
        super().__init__(args, "python -m gile_lightning.sweep", DESCRIPTION)

    def add_sweep_arguments(self, parser: LightningArgumentParser) -> None:
        """Read the section, and how the trials share this machine."""
        parser.add_class_arguments(Search, "sweep", instantiate=False)
        parser.add_argument(
            "--jobs",
            type=int | None,
            default=None,
            help="Trials at a time; by default as many as --devices allow, one without GPUs.",
        )
        parser.add_argument(
            "--devices",
            type=str | None,
            default=None,
            help="GPUs to share out, such as 0,1,2,3; by default all. A trial has trainer.devices.",
        )

    def before_instantiate_classes(self) -> None:
        """Leave run folders to the trials."""

    def instantiate_classes(self) -> None:
        """Make nothing yet."""

    def try_values(self, values: Mapping[str, Value]) -> Any:
        """Make model and data, both empty, with these values; returns both.

        Raises:
            InputError: they are refused.
        """
        self.parser.exit_on_error = False
        try:
            config = self.parser.parse_args([*self.given, *arguments(values)])
            made = self.parser.instantiate(config)
            epochs = config.trainer.max_epochs
            made.model.check(made.data.names, made.data.pretrained, epochs)
        except (ArgumentError, InputError, ValueError) as error:
            raise InputError(self.parser.explain(_own_words(error))) from error
        return made

    def configuration(self, values: Mapping[str, Value]) -> str:
        """Return the whole configuration of a trial with these values, as YAML."""
        config = self.parser.parse_args([*self.given, *arguments(values)])
        for key in ("jobs", "devices"):
            config.pop(key)
        return self.resolved(config)


@command
def main(args: list[str] | None = None) -> Path:
    """Run the command; returns the study's folder."""
    args = list(sys.argv[1:] if args is None else args)
    sys.argv[1:] = map(without_password, sys.argv[1:])  # W&B keeps the arguments of a process
    rank_zero_only.rank = 0  # type: ignore[attr-defined]  # a task of SLURM is a worker of its own
    return sweep(SweepCLI(args))


def sweep(cli: SweepCLI) -> Path:
    """Work on the study of a configuration until it has enough trials."""
    quiet_optuna()
    config = cli.config
    search: Search = instantiate(Search, config.sweep.as_dict())
    space = read_space(search.space)
    made, monitored = check(cli, space), config.early_stopping
    data, metrics = made.data, made.model.metrics
    objectives = search.judged_by(monitored.monitor, monitored.mode, data.names, metrics)
    stem = Path(str(config.config[0])).stem if config.config else "sweep"
    name = search.study or (Path(config.output).name if config.output else stem)
    folder = Path(config.output or Path("runs", "sweeps", name))
    url = search.storage or default_url(folder)
    configuration = cli.configuration({})
    launcher = _launcher(cli)
    plan = Plan(
        search=search,
        space=space,
        objectives=list(objectives),
        configuration=configuration,
        pruner=config.sweep.as_dict()["pruner"] if len(objectives) == 1 else None,
        folder=folder,
        storage=url,
        launcher=launcher,
    )
    storage = open_storage(url, search.heartbeat)
    announce(data)
    data.prepare_data()  # what is wrong with the corpus shows now, not in every trial
    data.setup("fit")
    say(data.summary())
    folder.mkdir(parents=True, exist_ok=True)
    corpus = data.meta["counts"]
    study = studies.join(storage, name, search, space, objectives, configuration, corpus)
    studies.claim(study, folder)
    progress = Progress(study, plan)
    progress.begin(folder, url)

    try:
        Worker(study, plan, progress.ended).run()
    except (KeyboardInterrupt, SystemExit):
        say("stopped; the same command goes on where it was")
        raise
    finally:
        with FileLock(folder / "report.lock"):  # workers may end at the same time
            write_results(
                study,
                folder,
                plan.objectives,
                lambda values: cli.configuration(in_order(space, values)),
                _logger(cli),
            )
    progress.end()
    return folder


def _own_words(error: BaseException) -> str:
    """Return what a part said of its values, without what the parser tried beside it."""
    found = re.findall(r"^ *- (.*)$", str(error), re.MULTILINE)
    own = [line for line in found if not line.startswith(("Problem with", "Expected", "Does not"))]
    refused = "Does not validate against any of the Union subtypes" in str(error)
    return own[0] if refused and own else str(error)


def _logger(cli: SweepCLI) -> dict[str, Any] | None:
    """Return what the study's own W&B run has in common with those of its trials."""
    if cli.config.trainer.logger is False:
        return None
    given = cli.config.wandb.as_dict()
    return {key: given[key] for key in ("project", "tags")}


def check(cli: SweepCLI, space: Space) -> Any:
    """Try the configuration, then every setting at its bounds or choices; returns model and data.

    Raises:
        InputError: one of them is refused.
    """
    if cli.config.start_from is not None:
        raise InputError("start_from: trials train from the beginning; leave it out of a sweep")
    made = cli.try_values({})
    by_key: dict[str, Setting] = {setting.key: setting for setting in space}
    for setting in space:
        if setting.key.partition(".")[0] in _OURS:
            raise setting.error("this key is not for varying")
        above: dict[str, Value] = {}
        _conditions(setting, by_key, above)
        for value in setting.extremes():
            try:
                cli.try_values({**above, setting.key: value})
            except InputError as error:
                raise setting.error(f"{value!r}: {error}") from error
    return made


def _conditions(setting: Setting, by_key: dict[str, Setting], found: dict[str, Value]) -> None:
    """Add the choices under which a setting is varied, outermost first."""
    for key, value in setting.conditions().items():
        _conditions(by_key[key], by_key, found)
        found[key] = value


def _launcher(cli: SweepCLI) -> Launcher:
    """Share out this machine: the GPUs of each trial, trials at a time, threads of a process."""
    trainer = cli.config.trainer
    if trainer.num_nodes > 1:
        raise InputError(
            "trainer.num_nodes: a trial runs on one machine; start the command on every one of "
            "them, with a common sweep.storage"
        )
    wanted = trainer.devices
    size = len(wanted) if isinstance(wanted, list) else int(wanted) if str(wanted).isdigit() else 1
    positive(**{"trainer.devices": size})
    gpus = [] if trainer.accelerator == "cpu" else processes.devices()
    if cli.config.devices is not None:
        chosen = cli.config.devices.split(",")
        if missing := [device for device in chosen if device not in gpus]:
            raise InputError(f"--devices: there is no GPU {missing[0]} (found: {gpus or 'none'})")
        gpus = chosen
    shares = [",".join(gpus[i : i + size]) for i in range(0, len(gpus) - size + 1, size)]
    if gpus and not shares:
        raise InputError(f"trainer.devices is {size}: more GPUs than there are ({len(gpus)})")
    jobs = cli.config.jobs if cli.config.jobs is not None else len(shares) or 1
    positive(**{"--jobs": jobs})
    return Launcher(jobs, shares, processes.threads(jobs * (1 if gpus else size)))


if __name__ == "__main__":
    main()
