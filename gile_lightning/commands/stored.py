"""Configurations that are stored, and those that are laid over others."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from gile_lightning.common.errors import InputError
from gile_lightning.common.factories import check_parts
from gile_lightning.common.plain import check_plain
from gile_lightning.training.checkpoint import STATE

# the keys that a checkpoint's configuration passes on; others are of the machine that trained
_STORED = (
    *("seed_everything", "model", "data", "length", "early_stopping", "wandb"),
    *("checkpoint_every", "test"),
)


@contextmanager
def stored_configuration(
    checkpoint: dict[str, Any], without: Sequence[str] = (), name: str = "checkpoint"
) -> Iterator[str]:
    """Write the configuration in a checkpoint to a file, without the keys of its machine.

    The classes that it names are checked first: see `gile_lightning.common.factories.Part`.

    Args:
        checkpoint: the checkpoint.
        without: keys of the data that are left out.
        name: of the file, which names a run folder.

    Raises:
        InputError: it names a class that is no part, or there is no configuration.
    """
    try:
        stored = yaml.safe_load(checkpoint[STATE]["config"])
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError("the configuration in the checkpoint is no YAML") from error
    check_plain(stored, "the configuration in the checkpoint")
    if not isinstance(stored, dict):
        raise InputError("the checkpoint holds no configuration: gile_lightning.fit stores it")
    stored = {key: value for key, value in stored.items() if key in _STORED}
    check_parts(stored)
    data = stored.get("data")
    if isinstance(data, dict) and isinstance(data.get("init_args"), dict):
        data["init_args"] = {k: x for k, x in data["init_args"].items() if k not in without}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.yaml"
        file.write_text(yaml.safe_dump(stored), encoding="utf-8")
        yield str(file)


def data_of(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of the data in the configuration of a checkpoint."""
    data = (yaml.safe_load(checkpoint[STATE]["config"]) or {}).get("data") or {}
    return data.get("init_args") or {}


def dropped_keys(config: Any) -> set[tuple[str, tuple[str, ...]]]:
    """Find the keys in configuration files that a class chosen later lacks.

    The parser drops them when a class path replaces another.

    Args:
        config: the parsed configuration.

    Returns:
        Each such class, with the keys that it lacks.
    """
    found: set[tuple[str, tuple[str, ...]]] = set()

    def compare(before: Any, final: Any) -> None:
        if not (isinstance(before, dict) and isinstance(final, dict)):
            return
        if "class_path" in final:
            name, final = final["class_path"], final.get("init_args") or {}
            plain = {key: value for key, value in before.items() if key != "class_path"}
            before = (before["init_args"] or {}) if "init_args" in before else plain
            if lacking := tuple(key for key in before if key not in final):
                found.add((name, lacking))
        for key in before.keys() & final.keys():
            compare(before[key], final[key])

    final = config.as_dict()
    for file in config.get("config") or ():
        compare(yaml.safe_load(Path(str(file)).read_text(encoding="utf-8")), final)
    return found
