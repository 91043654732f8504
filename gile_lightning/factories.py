"""Parts of a model as plain values, so that a checkpoint holds no code."""

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser


def describe(part: Any) -> Any:
    """Describe a part as plain values: a class becomes ``{"class_path", "init_args"}``.

    Understands numbers, strings, paths, lists, mappings, functions, classes, `functools.partial`
    of a class (also as jsonargparse makes them) and dataclass instances.

    Raises:
        TypeError: the part is something else, such as a lambda.
    """
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, Path):
        return str(part)
    if isinstance(part, list | tuple):
        return [describe(item) for item in part]
    if isinstance(part, Mapping):
        return {key: describe(value) for key, value in part.items()}
    if isinstance(part, partial):
        # jsonargparse makes partial(instantiators..., class, **init_args)
        kind = next((x for x in (part.func, *part.args) if inspect.isclass(x)), None)
        if kind is not None and (part.func, *part.args)[-1] is kind:
            return _spec(kind, part.keywords)
    elif inspect.isclass(part):
        return _spec(part, {})
    elif is_dataclass(part):
        return _spec(type(part), {f.name: getattr(part, f.name) for f in fields(part) if f.init})
    elif inspect.isfunction(part) and part.__name__ != "<lambda>":
        return f"{part.__module__}.{part.__qualname__}"
    raise TypeError(
        f"{part!r} cannot be stored in a checkpoint; give a class, functools.partial of a class "
        "with keyword arguments, or a named function"
    )


def _spec(kind: type, init_args: Mapping[str, Any]) -> dict[str, Any]:
    path = f"{kind.__module__}.{kind.__qualname__}"
    return {"class_path": path, "init_args": describe(init_args)}


def instantiate(kind: type, init_args: Mapping[str, Any]) -> Any:
    """Make an instance of ``kind`` from described arguments."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(kind, "part")
    return parser.instantiate_classes(parser.parse_object({"part": dict(init_args)})).part
