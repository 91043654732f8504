"""A study that many workers share: joined, counted, and kept free of trials that nobody runs."""

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import optuna
import yaml
from optuna.storages import BaseStorage, RetryHeartbeatStaleTrialCallback
from optuna.trial import FrozenTrial, TrialState

from gile_lightning import processes
from gile_lightning.errors import InputError
from gile_lightning.search.settings import Direction, Search
from gile_lightning.search.space import Space, values_of

OUTCOME = "outcome"  # user attribute of a trial: how it ended, and why
LOCK = ".lock"  # in a trial's run folder, held by its worker and its process
CONFIGURATION = "configuration"  # user attribute of a study: what all its trials have in common

_UNSTARTED = 60.0  # seconds: a trial without an outcome for as long has lost its worker at once
_MACHINE = (  # keys that may differ between the machines of one study
    *("trainer.accelerator", "trainer.devices", "trainer.strategy", "trainer.num_nodes"),
    *("trainer.logger", "trainer.enable_progress_bar", "data.init_args.cache_dir"),
    *("data.init_args.path", "data.init_args.num_proc", "checkpoint_every", "test", "wandb"),
)


def join(
    storage: BaseStorage,
    name: str,
    search: Search,
    space: Space,
    objectives: Mapping[str, Direction],
    configuration: str,
) -> optuna.Study:
    """Make a study, whose first trial has the configuration's own values, or go on with it.

    Raises:
        InputError: the study was begun with other objectives, settings or choices.
    """
    sampler = search.sampler or optuna.samplers.TPESampler()
    common: dict[str, Any] = {"storage": storage, "sampler": sampler}
    common["pruner"] = search.pruner or optuna.pruners.NopPruner()
    try:
        study = optuna.create_study(study_name=name, directions=list(objectives.values()), **common)
    except optuna.exceptions.DuplicatedStudyError:
        study = optuna.load_study(study_name=name, **common)
        _check(study, space, objectives, configuration)
        sampler.reseed_rng()  # with the same seed it would try the same values again
        return study
    study.set_metric_names(list(objectives))
    study.set_user_attr(CONFIGURATION, configuration)
    if own := values_of(space, yaml.safe_load(configuration)):
        study.enqueue_trial(own)  # what all others are compared with
    return study


def _check(
    study: optuna.Study, space: Space, objectives: Mapping[str, Direction], configuration: str
) -> None:
    remedy = "go on with the same, or name another study (sweep.study)"
    found = [direction.name.lower() for direction in study.directions]
    names = study.metric_names or list(objectives)
    if dict(zip(names, found, strict=True)) != dict(objectives):
        before = ", ".join(map(" ".join, zip(found, names, strict=True)))
        raise InputError(f"the study {study.study_name} was begun to {before}; {remedy}")
    stored = study.user_attrs.get(CONFIGURATION)
    if stored is not None and (changed := differences(stored, configuration)):
        raise InputError(
            f"the study {study.study_name} was begun with another configuration "
            f"({'; '.join(changed)}); {remedy}"
        )
    for setting in space:
        for trial in study.get_trials(deepcopy=False):
            if setting.key in trial.distributions:
                try:
                    optuna.distributions.check_distribution_compatibility(
                        trial.distributions[setting.key], setting.distribution
                    )
                except ValueError as error:
                    raise setting.error(
                        f"the study {study.study_name} was begun with other choices; {remedy}"
                    ) from error


def differences(before: str, now: str) -> list[str]:
    """List how two configurations differ, but for keys that belong to a machine."""
    old, new = flat(yaml.safe_load(before)), flat(yaml.safe_load(now))
    return [
        f"{key} was {json.dumps(old.get(key))}, is {json.dumps(new.get(key))}"
        for key in sorted(old | new)
        if old.get(key) != new.get(key)
        and not any(key == own or key.startswith(f"{own}.") for own in _MACHINE)
    ]


def flat(config: Any, prefix: str = "") -> dict[str, Any]:
    """Return a nested configuration by dotted keys.

    >>> flat({"a": {"b": 1, "c": []}, "d": None})
    {'a.b': 1, 'a.c': [], 'd': None}
    """
    if not (isinstance(config, dict) and config):
        return {prefix: config}
    found: dict[str, Any] = {}
    for key, value in config.items():
        found |= flat(value, f"{prefix}.{key}" if prefix else str(key))
    return found


def outcome(trial: FrozenTrial) -> str:
    """Say how a trial ended, and why."""
    known = str(trial.user_attrs.get(OUTCOME, "its worker vanished before it began"))
    if trial.state == TrialState.FAIL and known.startswith(("complete", "pruned")):
        return "its worker vanished before the storage knew of the end"
    return known


def first_number(trial: FrozenTrial) -> int:
    """Return the number of the trial that a trial is a repetition of, or its own."""
    history = trial.system_attrs.get("retry_history") or [trial.number]
    return int(history[0])


def counted(trials: Sequence[FrozenTrial]) -> int:
    """Count trials, one for all that repeat the same."""
    return len({first_number(trial) for trial in trials})


def repeated(trials: Iterable[FrozenTrial]) -> set[int]:
    """Return the numbers of the trials that another one repeats."""
    return {n for trial in trials for n in trial.system_attrs.get("retry_history", [])}


def repeat(study: optuna.Study, trial: FrozenTrial, retries: int | None = None) -> None:
    """Let some worker try a trial again, unless it has been often enough."""
    RetryHeartbeatStaleTrialCallback(retries, inherit_intermediate_values=True)(study, trial)


def recover(study: optuna.Study, folder: Path, retries: int, heartbeats: bool) -> None:
    """Fail trials that nobody runs any more, and let them be tried again.

    Databases: those without a heartbeat, also on other machines, and those whose worker died
    before the first one. Journal files: those of workers that shared this folder, whose locks are
    free.

    Args:
        study: the study.
        folder: where its trials' run folders are.
        retries: how often a trial is tried again.
        heartbeats: whether the storage has them.
    """
    optuna.storages.fail_stale_trials(study)
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if OUTCOME not in trial.user_attrs:
            assert trial.datetime_start is not None
            age = (datetime.datetime.now() - trial.datetime_start).total_seconds()
            lost = age > _UNSTARTED
        else:
            lost = not heartbeats and free(folder / trial.user_attrs["folder"] / LOCK)
        if lost:
            with suppress(optuna.exceptions.UpdateFinishedTrialError, ValueError):
                study.tell(trial.number, state=TrialState.FAIL)
                repeat(study, trial, retries)


def free(path: Path) -> bool:
    """Whether there is such a lock, and nobody holds it."""
    if not path.is_file() or (file := processes.lock(path)) is None:
        return False
    file.close()
    return True


def best(study: optuna.Study) -> list[FrozenTrial]:
    """Return the best trial, or with several objectives those that none is better than."""
    finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if not finished:
        return []
    return study.best_trials if len(study.directions) > 1 else [study.best_trial]
