"""The classes that a configuration may name, and the keys of each, read from the code."""

import inspect
import re
from argparse import SUPPRESS
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, get_args, get_origin

import yaml
from jsonargparse import ArgumentParser, Namespace

from gile_lightning.common.factories import describe


class Key(NamedTuple):
    """One key of a configuration.

    ``name`` is as below its section, ``kind`` says what values it takes, ``default`` is the default
    as YAML (empty if there is none), ``text`` is what it does.
    """

    name: str
    kind: str
    default: str
    text: str


class Kind(NamedTuple):
    """A family of classes that stand at the same place of a configuration.

    ``place`` is that place, ``module`` exports the classes, ``classes`` is their base, or names
    them. The package passes the first ``given`` arguments of a class itself: sizes and the like.
    """

    title: str
    place: str
    module: str
    classes: str | tuple[str, ...]
    given: int = 0

    def members(self) -> list[type]:
        """Return the classes, in the order of their names or of the tuple."""
        module = import_module(self.module)
        if not isinstance(self.classes, str):
            return [getattr(module, name) for name in self.classes]
        base = getattr(module, self.classes)
        names = getattr(module, "__all__", sorted(vars(module)))
        found = [getattr(module, name) for name in names if not name.startswith("_")]
        return sorted(
            (x for x in found if _is_choice(x, base)), key=lambda kind: kind.__name__.lower()
        )


def _is_choice(found: Any, base: type) -> bool:
    """Return whether a configuration may name this class where it wants one of ``base``."""
    return inspect.isclass(found) and issubclass(found, base) and not inspect.isabstract(found)


def keys_of(kind: type, given: int = 0) -> list[Key]:
    """Return the keys of a class, as the command line takes them.

    Args:
        kind: the class.
        given: the number of first arguments that the package passes.
    """
    parser = ArgumentParser()
    parser.add_class_arguments(kind, "of", fail_untyped=False, skip={given} if given else None)
    return list(read_keys(parser, "of."))


def read_keys(parser: Any, prefix: str = "") -> Iterator[Key]:
    """Yield the keys of a parser that begin with ``prefix``, without it."""
    for action in parser._actions:
        name, hint = action.dest, getattr(action, "_typehint", action.type)
        hidden = action.help == SUPPRESS or name.endswith(("help", "print_config"))
        group = hint is None and action.default == SUPPRESS  # of the keys that follow
        if name.startswith(prefix) and not hidden and not group:
            required = action.required and action.default is None
            default = "" if required else as_yaml(action.default)
            yield Key(name.removeprefix(prefix), kind_of(hint), default, tidy(action.help or ""))


def as_yaml(value: Any) -> str:
    """Write a value on one line; a class is its name, with its arguments in brackets.

    >>> as_yaml(None), as_yaml([1, "a"]), as_yaml({"class_path": "a.B", "init_args": {"c": True}})
    ('null', '[1, a]', 'B(c: true)')
    """
    if isinstance(value, str) and re.fullmatch(r"[a-z_]\w*(\.[a-z_]\w*)+\.[A-Z]\w*", value):
        return value.rpartition(".")[2]  # the path of a class
    if isinstance(value, Namespace):
        value = value.as_dict()
    if isinstance(value, partial) or inspect.isclass(value) or hasattr(value, "arguments"):
        value = describe(value)
    if isinstance(value, dict) and "class_path" in value:
        given = ", ".join(f"{k}: {as_yaml(v)}" for k, v in (value.get("init_args") or {}).items())
        name = value["class_path"].rpartition(".")[2]
        return f"{name}({given})" if given else name
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_yaml, value))}]"
    text = yaml.safe_dump(value, default_flow_style=True, width=1000)
    return text.removesuffix("\n").removesuffix("\n...")


def kind_of(hint: Any) -> str:
    """Say in words which values a type has.

    >>> kind_of(int | None), kind_of(list[str] | str)
    ('a whole number, or null', 'a list of text, or text')
    """
    names = {
        int: "a whole number", float: "a number", str: "text", bool: "true or false",
        type(None): "null", dict: "keys with values", list: "a list", Any: "anything",
    }  # fmt: skip
    if hint in names:
        return names[hint]
    origin, args = get_origin(hint), get_args(hint)
    name = getattr(origin or hint, "__name__", str(hint))
    if name == "Path":
        return "a path"
    if name == "Literal":
        return " or ".join(f"`{arg}`" for arg in args)
    if name in ("Union", "UnionType"):
        choices = sorted(args, key=lambda arg: arg is type(None))
        return ", or ".join(dict.fromkeys(map(kind_of, choices)))
    if name == "Callable":
        return f"a class: `{getattr(args[1], '__name__', args[1])}`"
    if name in ("list", "tuple", "Sequence"):
        item = kind_of(args[0])
        return f"a list of {item.replace('a class', 'classes').removeprefix('a ')}"
    if name in ("dict", "Mapping"):
        return "keys with values" if args[1] is Any else f"keys, each with {kind_of(args[1])}"
    return f"a class: `{name}`"


def tidy(text: str) -> str:
    """Return a description as one paragraph of Markdown that begins and ends like a sentence."""
    text = " ".join(text.replace("``", "`").split())
    return text[:1].upper() + text[1:] if text else ""


def introduction(kind: type) -> str:
    """Return what the docstring of a class says before its arguments, as Markdown."""
    text = inspect.getdoc(kind) or ""
    text = re.split(r"^(?:Args|Attributes|Raises|Example|Returns):\n", text, flags=re.M)[0]
    return text.replace("``", "`").strip()
