"""A search space: the settings that a study varies."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import optuna

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.search.setting import Setting, Value, plain

Space = tuple[Setting, ...]


def read_space(section: Mapping[str, Any]) -> Space:
    """Read the `sweep.space` of a configuration: what to vary, by dotted keys.

    Raises:
        InputError: an entry is not understood.
    """
    if not section:
        raise InputError(
            "sweep.space is empty: name the keys to vary, such as model.output.joint_dim: "
            "{type: int, low: 50, high: 2000, log: true}"
        )
    known = {item.name for item in fields(Setting) if item.init} - {"key"}
    space: dict[str, Setting] = {}
    for key, entry in section.items():
        if not isinstance(entry, Mapping):
            raise InputError(
                f"sweep.space, {key}: expected low and high, or choices; not {entry!r}"
            )
        if unknown := [name for name in entry if name not in known]:
            hint = nearest(unknown[0], known) or f"; it takes {', '.join(sorted(known))}"
            raise InputError(f"sweep.space, {key}: unknown {unknown[0]!r}{hint}")
        setting = Setting(key, **entry)
        for other, value in setting.when.items():
            if other not in space:
                raise setting.error(f"when: {other} is no key of the space before this one")
            if plain(value) not in map(plain, space[other].choices or ()):
                raise setting.error(f"when: {value!r} is none of the choices of {other}")
        space[key] = setting
    return tuple(space.values())


def suggest(space: Space, trial: optuna.Trial) -> dict[str, Value]:
    """Suggest a value for each setting that applies, in order."""
    values: dict[str, Value] = {}
    for setting in space:
        if setting.applies(values):
            values[setting.key] = setting.suggest(trial)
    return values


def in_order(space: Space, values: Mapping[str, Any]) -> dict[str, Value]:
    """Put values in the order of their settings: a class comes before its arguments.

    Databases return the values of a trial in another order.
    """
    return {setting.key: values[setting.key] for setting in space if setting.key in values}


def values_of(space: Space, configuration: Mapping[str, Any]) -> dict[str, Value]:
    """Return a configuration's own values, as far as they are within the space.

    >>> space = read_space({"model.output.joint_dim": {"type": "int", "low": 50, "high": 2000}})
    >>> output = {"class_path": "GILE", "init_args": {"joint_dim": 500}}
    >>> values_of(space, {"model": {"output": output}})
    {'model.output.joint_dim': 500}
    """
    found: dict[str, Value] = {}
    for setting in space:
        value = _look_up(configuration, setting.key)
        if isinstance(value, Mapping) and not setting.contains(value):
            value = value.get("class_path")  # its arguments may be settings of their own
        if setting.applies(found) and setting.contains(value):
            found[setting.key] = plain(value)
    return found


def _look_up(config: Any, key: str) -> Any:
    for name in key.split("."):
        if isinstance(config, Mapping) and "class_path" in config and name not in config:
            config = config.get("init_args")
        if not isinstance(config, Mapping) or name not in config:
            return None
        config = config[name]
    known = isinstance(config, Mapping) and not config.get("init_args")
    return config.get("class_path", config) if known else config


def arguments(values: Mapping[str, Value]) -> list[str]:
    """Write values as arguments of a command line.

    >>> arguments({"model.norm": None, "model.sampler.rate": 0.1, "data.trainable": True})
    ['--model.norm', 'null', '--model.sampler.rate', '0.1', '--data.trainable', 'true']
    """
    return [part for k, v in values.items() for part in (f"--{k}", _written(v))]


def _written(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value)
