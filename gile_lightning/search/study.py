"""A study that many workers share."""

import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import optuna
import yaml
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from gile_lightning.common.errors import InputError
from gile_lightning.common.files import write
from gile_lightning.common.formats import check_format
from gile_lightning.search.settings import Direction, Search
from gile_lightning.search.space import Space, values_of

CORPUS = "corpus"  # user attribute of a study: counts of the encoded corpus
ID = "id"  # user attribute of a study, and a file in its folder: names this study alone
CONFIGURATION = "configuration"  # user attribute of a study: what all its trials share
NUMBER = "format"  # user attribute of a study: `FORMAT` of the version that began it

FORMAT = 1
"""The number of the format of studies. Raise it when older ones cannot be continued."""

_PATIENCE = 100  # tenths of a second that a study may take to be made

_REMEDY = "continue with the same, or name another study (sweep.study)"
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
    """Make a study, or join one. The first trial of a new one has the configuration's own values.

    Raises:
        InputError: the study was begun with other objectives, settings, choices or keys.
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
    study.set_user_attr(NUMBER, FORMAT)
    study.set_user_attr(ID, uuid.uuid4().hex)
    study.set_user_attr(CORPUS, dict(corpus))
    study.set_user_attr(CONFIGURATION, configuration)
    if own := values_of(space, yaml.safe_load(configuration)):
        study.enqueue_trial(own)  # to compare all others with
    return study


def _check(
    study: optuna.Study,
    space: Space,
    objectives: Mapping[str, Direction],
    configuration: str,
    corpus: Mapping[str, Any],
) -> None:
    _check_origin(study)
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
            f"the study {study.study_name} was begun on another corpus (it had {known}, this "
            f"one has {dict(corpus)}); {_REMEDY}"
        )
    trials = study.get_trials(deepcopy=False)
    varied = {key for trial in trials for key in trial.distributions}
    if gone := sorted(varied - {setting.key for setting in space}):
        raise InputError(
            f"the study {study.study_name} was begun with {', '.join(gone)} in its space "
            f"(sweep.space), and has trials of other values; {_REMEDY}"
        )
    for setting in space:
        for trial in trials:
            if setting.key in trial.distributions:
                try:
                    optuna.distributions.check_distribution_compatibility(
                        trial.distributions[setting.key], setting.distribution
                    )
                except ValueError as error:
                    raise setting.error(
                        f"the study {study.study_name} was begun with other choices; {_REMEDY}"
                    ) from error


def _check_origin(study: optuna.Study) -> None:
    """Refuse a study that no sweep has begun, or one of another format."""
    for _ in range(_PATIENCE):
        if ID in study.user_attrs:
            break
        time.sleep(0.1)  # another worker is making it
    else:
        raise InputError(
            f"the study {study.study_name} was not begun by gile_lightning.sweep; name another "
            "study (sweep.study)"
        )
    found = study.user_attrs.get(NUMBER, 1)  # a version that wrote none
    check_format(f"the study {study.study_name}", found, FORMAT, "name another (sweep.study)")


def begun_in(storage: BaseStorage, folder: Path) -> str | None:
    """Return the name of the study that a folder was begun for, whatever the folder is called now.

    None for a new folder.

    Raises:
        InputError: the storage does not have the study any more.
    """
    file = folder / f"study.{ID}"
    if not file.is_file():
        return None
    known = file.read_text()
    for study in storage.get_all_studies():
        if study.user_attrs.get(ID) == known:
            return study.study_name
    if any((folder / "trials").glob("*")):
        raise InputError(
            f"{folder}: holds trials of a study that the storage does not have; choose another "
            "--output, or give the storage that has it (sweep.storage)"
        )
    return None


def claim(study: optuna.Study, folder: Path) -> None:
    """Reserve a folder for a study.

    Raises:
        InputError: it has trials of another study.
    """
    file = folder / f"study.{ID}"
    known = file.read_text() if file.is_file() else None
    if known != study.user_attrs[ID] and any((folder / "trials").glob("*")):
        raise InputError(
            f"{folder}: holds trials of another study than {study.study_name}; choose another "
            "--output"
        )
    if known != study.user_attrs[ID]:
        write(file, study.user_attrs[ID])  # other workers read it meanwhile


def differences(before: str, now: str) -> list[str]:
    """List how two configurations differ, except in keys that belong to a machine."""
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


def best(study: optuna.Study) -> list[FrozenTrial]:
    """Return the best trial, or with several objectives those that none is better than."""
    finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if not finished:
        return []
    return study.best_trials if len(study.directions) > 1 else [study.best_trial]
