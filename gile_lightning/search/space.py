"""The settings that a study varies, each between bounds or among choices."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from gile_lightning.common.errors import InputError, nearest

Value = None | bool | int | float | str


@dataclass(frozen=True)
class Setting:
    """One key of a configuration that a study varies.

    Args:
        key: its dotted key, as on the command line.
        type: `float` or `int` between ``low`` and ``high``, both included, or one of ``choices``
            (`categorical`, which ``choices`` alone say).
        low: the least value.
        high: the greatest value.
        log: whether values are drawn from the logarithmic scale.
        step: what values differ from ``low`` by multiples of.
        choices: values; those that are no single ones, such as a class with its arguments, are
            known to the study by their JSON.
        when: choices of keys before this one for which it is varied; otherwise it keeps its place
            in the configuration.

    Raises:
        InputError: the bounds or choices leave nothing to choose from, or do not go together.
    """

    key: str
    type: Literal["float", "int", "categorical"] | None = None
    low: float | None = None
    high: float | None = None
    log: bool = False
    step: float | None = None
    choices: list[Any] | None = None
    when: Mapping[str, Any] = field(default_factory=dict)
    distribution: BaseDistribution = field(init=False, compare=False)

    def __post_init__(self) -> None:
        try:
            distribution = self._distribution()
        except (ValueError, TypeError) as error:  # Optuna's words about bounds
            raise self.error(" ".join(str(error).split())) from error
        object.__setattr__(self, "distribution", distribution)

    def error(self, problem: str) -> InputError:
        """Return an error that names the key."""
        return InputError(f"sweep.space, {self.key}: {problem}")

    def _distribution(self) -> BaseDistribution:
        bounds = {"low": self.low, "high": self.high}
        if self.choices is not None:
            if self.type not in (None, "categorical") or set(bounds.values()) != {None}:
                raise self.error("give either choices or low and high")
            if self.log or self.step is not None:
                raise self.error("choices have neither log nor step")
            if len(set(map(plain, self.choices))) < len(self.choices):
                raise self.error("the same choice twice")
            return CategoricalDistribution([plain(choice) for choice in self.choices])
        if self.type not in ("float", "int"):
            raise self.error("needs a type (float or int) with low and high, or choices")
        if missing := [name for name, value in bounds.items() if value is None]:
            raise self.error(f"needs {' and '.join(missing)}")
        for name, value in {**bounds, "step": self.step}.items():
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float)
            ):
                # YAML 1.1 reads 1e-3 as a word
                raise self.error(f"{name} is {value!r}, not a number (write 1.0e-3, not 1e-3)")
            if self.type == "int" and isinstance(value, float):
                raise self.error(f"{name} is {value}, not a whole number")
        assert self.low is not None
        assert self.high is not None
        if self.low >= self.high:
            raise self.error(f"empty: low is {self.low:g}, high is {self.high:g}")
        if self.type == "int":
            step = 1 if self.step is None else int(self.step)
            return IntDistribution(int(self.low), int(self.high), self.log, step)
        return FloatDistribution(self.low, self.high, self.log, self.step)

    def applies(self, values: Mapping[str, Value]) -> bool:
        """Whether this is varied beside these values of keys before it."""
        return all(k in values and values[k] == v for k, v in self.conditions().items())

    def conditions(self) -> dict[str, Value]:
        """Return `when` as a study knows it."""
        return {key: plain(value) for key, value in self.when.items()}

    def suggest(self, trial: optuna.Trial) -> Value:
        """Let a study choose a value."""
        found = self.distribution
        if isinstance(found, CategoricalDistribution):
            value: Value = trial.suggest_categorical(self.key, found.choices)
            return value
        assert isinstance(found, IntDistribution | FloatDistribution)
        bounds: dict[str, Any] = {"low": found.low, "high": found.high, "log": found.log}
        if isinstance(found, IntDistribution):
            return trial.suggest_int(self.key, **bounds, step=found.step)
        return trial.suggest_float(self.key, **bounds, step=found.step)

    def contains(self, value: Any) -> bool:
        """Whether a value is within the bounds or among the choices."""
        if isinstance(self.distribution, CategoricalDistribution):
            return plain(value) in self.distribution.choices
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.distribution._contains(value)

    def extremes(self) -> list[Value]:
        """Return the least and the greatest value, or all choices."""
        if isinstance(self.distribution, CategoricalDistribution):
            return list(self.distribution.choices)
        assert isinstance(self.distribution, IntDistribution | FloatDistribution)
        return [self.distribution.low, self.distribution.high]  # which a step may have lowered


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
    """Let a study choose a value of every setting that applies, in order."""
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
    """Return the values that a configuration has itself, as far as they are within the space.

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


def plain(value: Any) -> Value:
    """Return a single value as it is, anything else as JSON."""
    return value if isinstance(value, Value) else json.dumps(value)


def arguments(values: Mapping[str, Value]) -> list[str]:
    """Write values as arguments of a command line.

    >>> arguments({"model.norm": None, "model.sampler.rate": 0.1, "data.trainable": True})
    ['--model.norm', 'null', '--model.sampler.rate', '0.1', '--data.trainable', 'true']
    """
    return [part for k, v in values.items() for part in (f"--{k}", _written(v))]


def _written(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value)
