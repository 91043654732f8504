"""Parts of a model as plain values, so that a checkpoint holds no code."""

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import ArgumentParser


def describe(part: Any) -> Any:
    """Describe a part as plain values: a class becomes ``{"class_path", "init_args"}``.

    Understands numbers, strings, paths, lists, mappings, functions, classes, `functools.partial`
    of a class (also as jsonargparse makes them) and dataclass instances.

    Raises:
        TypeError: the part is something else, such as a lambda or a local class.
    """
    if isinstance(part, np.generic):
        part = part.item()  # NumPy's float64 is a float, but no plain one
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, Path):
        return str(part)
    if isinstance(part, list | tuple):
        return [describe(item) for item in part]
    if isinstance(part, Mapping):
        return {key: describe(value) for key, value in part.items()}
    if isinstance(part, partial):
        # jsonargparse makes partial(its function, ..., class, **init_args)
        kind = (part.func, *part.args)[-1]
        by_parser = str(getattr(part.func, "__module__", "")).startswith("jsonargparse.")
        if inspect.isclass(kind) and (by_parser or not part.args):
            return _spec(kind, part.keywords)
    elif inspect.isclass(part):
        return _spec(part, {})
    elif is_dataclass(part):
        return _spec(type(part), {f.name: getattr(part, f.name) for f in fields(part) if f.init})
    elif inspect.isfunction(part):
        return _path(part)
    raise _refused(part)


def _spec(kind: type, init_args: Mapping[str, Any]) -> dict[str, Any]:
    return {"class_path": _path(kind), "init_args": describe(init_args)}


def _path(part: Any) -> str:
    if "<" in part.__qualname__:  # a lambda, or local to a function: nothing can import it
        raise _refused(part)
    return f"{part.__module__}.{part.__qualname__}"


def _refused(part: Any) -> TypeError:
    return TypeError(
        f"{part!r} cannot be stored in a checkpoint; give a class, functools.partial of a class "
        "with keyword arguments, a dataclass instance or a named function, none of them local to "
        "a function"
    )


def instantiate(kind: type, init_args: Mapping[str, Any]) -> Any:
    """Make an instance of ``kind`` from described arguments."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(kind, "part")
    return parser.instantiate(parser.parse_object({"part": dict(init_args)})).part
