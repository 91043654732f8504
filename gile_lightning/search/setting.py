"""One key of a configuration that a study varies."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from gile_lightning.common.errors import InputError

Value = None | bool | int | float | str


@dataclass(frozen=True)
class Setting:
    """One key of a configuration that a study varies.

    Args:
        key: its dotted key, as on the command line.
        type: `float` or `int`: a number from ``low`` to ``high``, both included. `categorical`: one
            of ``choices``; it need not be written beside them.
        low: the least value.
        high: the greatest value.
        log: whether values are drawn from a logarithmic scale.
        step: values are ``low`` plus a multiple of it.
        choices: the values; a study stores a class with arguments as JSON.
        when: choices of earlier keys under which this key is varied. Otherwise it keeps the
            configuration's value.

    Raises:
        InputError: the bounds or choices are empty, or contradict each other.
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
        if not isinstance(self.when, Mapping):
            raise self.error(f"when: give {{KEY: CHOICE}}, not {self.when!r}")
        try:
            distribution = self._distribution()
        except (ValueError, TypeError) as error:  # Optuna refuses the bounds
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
        """Whether this key is varied, by the values of the keys before it."""
        return all(k in values and values[k] == v for k, v in self.conditions().items())

    def conditions(self) -> dict[str, Value]:
        """Return `when` as a study stores it."""
        return {key: plain(value) for key, value in self.when.items()}

    def suggest(self, trial: optuna.Trial) -> Value:
        """Suggest a value."""
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
        return [self.distribution.low, self.distribution.high]  # a step may have lowered high


def plain(value: Any) -> Value:
    """Return a single value as it is, anything else as JSON."""
    return value if isinstance(value, Value) else json.dumps(value)
