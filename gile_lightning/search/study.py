"""A study that many workers share: joined, counted, and kept free of trials that nobody runs."""

import datetime
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import optuna
import yaml
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from gile_lightning.commands.launcher import LOCK, lock
from gile_lightning.common.errors import InputError
from gile_lightning.search.settings import Direction, Search
from gile_lightning.search.space import Space, values_of

OUTCOME = "outcome"  # user attribute of a trial: how it ended, and why
WORKER = "worker"  # user attribute of a trial: who runs it
LOG_TAIL = "log_tail"  # user attribute of a trial that failed
CORPUS = "corpus"  # user attribute of a study: counts of the encoded corpus
ID = "id"  # user attribute of a study, and file in its folders: the same only in the same study
CONFIGURATION = "configuration"  # user attribute of a study: what all its trials have in common

_INTERRUPTED, _FAILED = "interrupted", "failed"  # how outcomes begin
_UNSTARTED = 60.0  # seconds: a trial without an outcome for as long has lost its worker at once
_REMEDY = "go on with the same, or name another study (sweep.study)"
_MACHINE = (  # keys that may differ between the machines of one study
    *("trainer.accelerator", "trainer.devices", "trainer.strategy", "trainer.num_nodes"),
    *("trainer.logger", "trainer.enable_progress_bar", "data.init_args.cache_dir"),
    *("data.init_args.path", "data.init_args.word_vectors", "data.init_args.num_proc"),
    *("checkpoint_every", "test", "wandb"),
)


def join(
    storage: BaseStorage,
    name: str,
    search: Search,
    space: Space,
    objectives: Mapping[str, Direction],
    configuration: str,
    corpus: Mapping[str, Any],
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
        _check(study, space, objectives, configuration, corpus)
        sampler.reseed_rng()  # with the same seed it would try the same values again
        return study
    study.set_metric_names(list(objectives))
    study.set_user_attr(ID, uuid.uuid4().hex)
    study.set_user_attr(CORPUS, dict(corpus))
    study.set_user_attr(CONFIGURATION, configuration)
    if own := values_of(space, yaml.safe_load(configuration)):
        study.enqueue_trial(own)  # what all others are compared with
    return study


def _check(
    study: optuna.Study,
    space: Space,
    objectives: Mapping[str, Direction],
    configuration: str,
    corpus: Mapping[str, Any],
) -> None:
    found = [direction.name.lower() for direction in study.directions]
    names = study.metric_names or list(objectives)
    if dict(zip(names, found, strict=True)) != dict(objectives):
        before = ", ".join(map(" ".join, zip(found, names, strict=True)))
        raise InputError(f"the study {study.study_name} was begun to {before}; {_REMEDY}")
    stored = study.user_attrs.get(CONFIGURATION)
    if stored is not None and (changed := differences(stored, configuration)):
        raise InputError(
            f"the study {study.study_name} was begun with another configuration "
            f"({'; '.join(changed)}); {_REMEDY}"
        )
    if (known := study.user_attrs.get(CORPUS, corpus)) != dict(corpus):
        raise InputError(
            f"the study {study.study_name} was begun on another corpus: {known}, this one has "
            f"{dict(corpus)}; {_REMEDY}"
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
                        f"the study {study.study_name} was begun with other choices; {_REMEDY}"
                    ) from error


def claim(study: optuna.Study, folder: Path) -> None:
    """Take a folder for a study.

    Raises:
        InputError: it has trials of another study, which this one would take for its own.
    """
    file = folder / f"study.{ID}"
    known = file.read_text() if file.is_file() else None
    if known != study.user_attrs[ID] and any((folder / "trials").glob("*")):
        raise InputError(
            f"{folder}: holds trials of another study than {study.study_name}, perhaps one whose "
            "storage was removed; choose another --output, or remove it"
        )
    file.write_text(study.user_attrs[ID])


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


def ending(trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> str:
    """Say how a trial ended, and which one goes on with it."""
    after = [x.number for x in trials if trial.number in _history(x)]
    if not after:
        return outcome(trial)
    cause = outcome(trial).partition(";")[0]
    cause = "its worker was killed or vanished" if cause.startswith("begun by") else cause
    return f"{cause}; trial {after[0]} goes on with it"


def first_number(trial: FrozenTrial) -> int:
    """Return the number of the trial that a trial is a repetition of, or its own."""
    return int((_history(trial) or [trial.number])[0])


def _history(trial: FrozenTrial) -> list[int]:
    return list(trial.system_attrs.get("retry_history", []))


def counted(trials: Sequence[FrozenTrial]) -> int:
    """Count trials, one for all that repeat the same."""
    return len({first_number(trial) for trial in trials})


def repeated(trials: Iterable[FrozenTrial]) -> set[int]:
    """Return the numbers of the trials that another one repeats."""
    return {number for trial in trials for number in _history(trial)}


def cut_off(trials: Sequence[FrozenTrial], retries: int) -> list[FrozenTrial]:
    """List the trials that did not fail by themselves, and that no other one repeats yet.

    Args:
        trials: all trials of a study.
        retries: how often a trial is tried again whose process was killed or whose worker
            vanished; one that was interrupted always is.
    """
    done = repeated(trials)
    by_number = {trial.number: trial for trial in trials}

    def killed(trial: FrozenTrial) -> bool:
        return not outcome(trial).startswith((_INTERRUPTED, _FAILED))

    found = []
    for trial in trials:
        itself = trial.state != TrialState.FAIL or outcome(trial).startswith(_FAILED)
        if itself or trial.number in done:
            continue
        family = [by_number[number] for number in (*_history(trial), trial.number)]
        if not killed(trial) or sum(map(killed, family)) <= retries:
            found.append(trial)
    return found


def repeat(study: optuna.Study, trial: FrozenTrial) -> None:
    """Let some worker try a trial again, with its values and what it has reported."""
    own = (OUTCOME, WORKER, LOG_TAIL)  # what the new one has to say of itself
    study.add_trial(
        optuna.create_trial(
            state=TrialState.WAITING,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs={key: x for key, x in trial.user_attrs.items() if key not in own},
            system_attrs=trial.system_attrs | {"retry_history": [*_history(trial), trial.number]},
            intermediate_values=trial.intermediate_values,
        )
    )


def recover(study: optuna.Study, folder: Path, retries: int, heartbeats: bool) -> None:
    """Fail trials that nobody runs any more, and let those be tried again that were cut off.

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
            place, worker = trial.user_attrs["folder"], trial.user_attrs[WORKER]
            lost = not heartbeats and left_by(worker, folder / place)
        if lost:
            with suppress(optuna.exceptions.UpdateFinishedTrialError, ValueError):
                study.tell(trial.number, state=TrialState.FAIL)
    for trial in cut_off(study.get_trials(deepcopy=False), retries):
        repeat(study, trial)


def left_by(worker: str, folder: Path) -> bool:
    """Whether a worker had the lock of a run folder, and nobody holds it any more."""
    path = folder / LOCK
    if not path.is_file() or path.read_text() != worker or (file := lock(folder)) is None:
        return False
    file.close()
    return True


def best(study: optuna.Study) -> list[FrozenTrial]:
    """Return the best trial, or with several objectives those that none is better than."""
    finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if not finished:
        return []
    return study.best_trials if len(study.directions) > 1 else [study.best_trial]
