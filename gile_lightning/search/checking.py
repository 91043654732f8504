"""Tries every setting of a search space before the first trial."""

from typing import Any

from gile_lightning.common.errors import InputError
from gile_lightning.search.setting import Setting, Value
from gile_lightning.search.space import Space
from gile_lightning.search.sweep_cli import SweepCLI

_FIXED = (
    "output",
    "ckpt_path",
    "start_from",
    "keep",
    "config",
    "sweep",
    "wandb",
    "test",
    "jobs",
    "devices",
)


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
        if setting.key.partition(".")[0] in _FIXED:
            raise setting.error("a sweep cannot vary this key")
        conditions: dict[str, Value] = {}
        _add_conditions(setting, by_key, conditions)
        for value in setting.extremes():
            try:
                cli.try_values({**conditions, setting.key: value})
            except InputError as error:
                raise setting.error(f"{value!r}: {error}") from error
    return made


def _add_conditions(setting: Setting, by_key: dict[str, Setting], found: dict[str, Value]) -> None:
    """Add the choices under which a setting is varied, outermost first."""
    for key, value in setting.conditions().items():
        _add_conditions(by_key[key], by_key, found)
        found[key] = value
