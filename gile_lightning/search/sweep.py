"""Works on the study of a configuration, from its first check to its report."""

from os.path import abspath
from pathlib import Path
from typing import Any

import optuna
from filelock import FileLock

from gile_lightning.commands.launcher import Launcher
from gile_lightning.commands.run_folder import config_name
from gile_lightning.common import processes
from gile_lightning.common.console import complain, say
from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.factories import instantiate
from gile_lightning.search import study as studies
from gile_lightning.search.checking import check
from gile_lightning.search.outage import outage
from gile_lightning.search.plan import Plan
from gile_lightning.search.progress import TrialProgress
from gile_lightning.search.results import BEST, write_results
from gile_lightning.search.settings import Search
from gile_lightning.search.space import in_order, read_space
from gile_lightning.search.storage import default_url, open_storage, quiet_optuna
from gile_lightning.search.sweep_cli import SweepCLI
from gile_lightning.search.worker import Worker


def sweep(cli: SweepCLI) -> Path:
    """Work on the study of a configuration until it has enough trials; returns its folder.

    Raises:
        InputError: the configuration is wrong, or the storage has not answered for minutes.
    """
    try:
        return _sweep(cli)
    except optuna.exceptions.StorageInternalError as error:
        raise InputError(
            f"sweep.storage: {outage(error)}; when it answers again, the same command continues "
            "the study"
        ) from error


def _sweep(cli: SweepCLI) -> Path:
    quiet_optuna()
    config = cli.config
    search: Search = instantiate(Search, config.sweep.as_dict())
    space = read_space(search.space)
    made, monitored = check(cli, space), config.early_stopping
    data, metrics = made.data, made.model.metrics
    objectives = search.directions(monitored.monitor, monitored.mode, data.names, metrics)
    named = Path(abspath(config.output)).name if config.output else config_name(config, "sweep")
    folder = Path(config.output or Path("runs", "sweeps", search.study or named)).expanduser()
    best = (folder / f"{BEST}.yaml").absolute()
    if best in [Path(str(file)).absolute() for file in config.get("config") or []]:
        raise InputError(
            f"{best}: the study would write the best configuration in its place; choose another "
            "--output"
        )
    url = search.storage or default_url(folder)
    configuration = cli.shared()
    plan = Plan(
        search=search,
        space=space,
        objectives=list(objectives),
        configuration=configuration,
        pruner=config.sweep.as_dict()["pruner"] if len(objectives) == 1 else None,
        folder=folder,
        storage=url,
        launcher=make_launcher(config),
    )
    storage = open_storage(url, search.heartbeat)
    cli.announce(data)
    data.prepare_data()  # an error in the corpus shows now, not in every trial
    data.setup("fit")
    say(data.summary())
    folder.mkdir(parents=True, exist_ok=True)
    corpus = data.meta["counts"]
    name = search.study or studies.begun_in(storage, folder) or named
    study = studies.join(storage, name, search, space, objectives, configuration, corpus)
    studies.claim(study, folder)
    progress = TrialProgress(study, plan)
    progress.begin(folder, url)
    try:
        Worker(study, plan, progress.ended).run()
    except (KeyboardInterrupt, SystemExit):
        complain("stopped; the same command continues the study")
        raise
    finally:
        with FileLock(folder / "report.lock"):  # workers may end at the same time
            write_results(
                study,
                folder,
                plan.objectives,
                lambda values: cli.configuration(configuration, in_order(space, values)),
                _wandb(config),
            )
    progress.end()
    return folder


def make_launcher(config: Any) -> Launcher:
    """Divide this machine: GPUs of a trial, trials at a time, CPU threads of a process.

    Raises:
        InputError: there are no such GPUs, or the numbers do not fit.
    """
    trainer = config.trainer
    if trainer.num_nodes > 1:
        raise InputError(
            "trainer.num_nodes: a trial runs on one machine; start the command on every machine, "
            "with a common sweep.storage"
        )
    wanted = trainer.devices
    size = len(wanted) if isinstance(wanted, list) else int(wanted) if str(wanted).isdigit() else 1
    positive(**{"trainer.devices": size})
    gpus = [] if trainer.accelerator == "cpu" else processes.devices()
    if config.devices is not None:
        chosen = config.devices.split(",")
        if missing := [device for device in chosen if device not in gpus]:
            raise InputError(f"--devices: there is no GPU {missing[0]} (found: {gpus or 'none'})")
        gpus = chosen
    groups = [",".join(gpus[i : i + size]) for i in range(0, len(gpus) - size + 1, size)]
    if gpus and not groups:
        raise InputError(f"trainer.devices is {size}: more GPUs than there are ({len(gpus)})")
    jobs = config.jobs if config.jobs is not None else len(groups) or 1
    positive(**{"--jobs": jobs})
    return Launcher(jobs, groups, processes.threads(jobs * (1 if gpus else size)))


def _wandb(config: Any) -> dict[str, Any] | None:
    """Return the W&B settings that the study's own run shares with its trials; None for no run."""
    if config.trainer.logger is False:
        return None
    settings = config.wandb.as_dict()
    return {key: settings[key] for key in ("project", "tags")}
