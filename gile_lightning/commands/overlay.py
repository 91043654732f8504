"""Lists that are laid over those of an earlier file: the later one replaces all of the earlier one.

The parser's library gives an item the settings of the item at its place before, if both are of one
class and the lists are equally long. So a setting would stay that nobody reads in the later list.
"""

from collections.abc import Sequence
from typing import Any

import yaml
from jsonargparse import ActionConfigFile, Namespace  # type: ignore[attr-defined]

from gile_lightning.commands.shipped import read_configuration


class ConfigFile(ActionConfigFile):
    """The option ``--config``: a file that is laid over what was read before it."""

    def __call__(  # type: ignore[override]
        self, parser: Any, cfg: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Read a file; its lists replace those before."""
        _empty(cfg, read_configuration(values))
        super().__call__(parser, cfg, values, option_string)  # type: ignore[no-untyped-call]


def _empty(before: Any, over: dict[str, Any]) -> None:
    """Empty the lists of a configuration that others are laid over."""
    for key, value in over.items():
        owner = before
        if key not in owner and isinstance(owner.get("init_args"), Namespace):
            owner = owner.init_args  # which a file may leave out
        if isinstance(value, list) and isinstance(owner.get(key), list):
            owner[key] = []
        elif isinstance(value, dict) and isinstance(owner.get(key), Namespace):
            _empty(owner[key], value)


def replace_lists(args: Sequence[str]) -> list[str]:
    """Put an empty list before each option that is a list of classes.

    >>> replace_lists(["--a", "[{class_path: x.Y}]", "--b=[x.Y]", "--c", "[1]"])
    ['--a=[]', '--a', '[{class_path: x.Y}]', '--b=[]', '--b=[x.Y]', '--c', '[1]']
    """
    found: list[str] = []
    for arg, following in zip(args, [*args, ""][1:], strict=True):
        key, equals, value = arg.partition("=")
        replaces = key.startswith("--") and not key.endswith("+")  # which adds to a list
        if replaces and _is_list_of_classes(value if equals else following):
            found.append(f"{key}=[]")
        found.append(arg)
    return found


def _is_list_of_classes(text: str) -> bool:
    if not text.startswith("["):
        return False
    try:
        items = yaml.safe_load(text)
    except yaml.YAMLError:
        return False  # the parser says what is wrong
    return isinstance(items, list) and any(
        isinstance(item, dict) or (isinstance(item, str) and "." in item) for item in items
    )
