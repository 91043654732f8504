"""Parts as plain values and back, so that a checkpoint holds no code."""

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from jsonargparse import ArgumentParser, Namespace
from jsonargparse.typing import import_object  # type: ignore[attr-defined]

from gile_lightning.common.errors import InputError

_ESTIMATOR = ("sklearn.base", "BaseEstimator")  # by name, as it takes a second to import


class Part:
    """A class that a checkpoint may name by its import path, with the arguments to make it.

    A checkpoint of unknown origin may name anything. So loading makes only classes that derive from
    `Part`, modules of torch.nn, and optimizers and estimators that derive from the base classes of
    PyTorch and scikit-learn. It never calls a function.

    Encoders, output layers, samplers, losses and all other kinds derive from `Part` already. Your
    own module for another place, such as a norm or an activation, has to as well.
    """

    __slots__ = ()


class Configured(Part):
    """A part that is passed as an instance, and remembers the arguments that made it.

    ``__new__`` keeps the arguments of the call, whatever ``__init__`` does with them. So a subclass
    is stored completely without code of its own.
    """

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep the arguments."""
        if cls.__init__ is object.__init__ and (args or kwargs):  # nothing else would refuse them
            raise TypeError(f"{cls.__name__}() takes no arguments")
        part = super().__new__(cls)
        if not _made_by_fields(cls):
            object.__setattr__(part, "_made_with", (args, kwargs))
        return part

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by name, with the defaults of the others.

        Raises:
            TypeError: some have no name (``*args``).
        """
        if _made_by_fields(type(self)):
            return {field.name: getattr(self, field.name) for field in fields(self) if field.init}  # type: ignore[arg-type]
        args, kwargs = self._made_with
        signature = inspect.signature(type(self).__init__)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        found: dict[str, Any] = {}
        for name, parameter in list(signature.parameters.items())[1:]:
            if parameter.kind is parameter.VAR_KEYWORD:
                found |= bound.arguments[name]
            elif parameter.kind is not parameter.VAR_POSITIONAL:
                found[name] = bound.arguments[name]
            elif bound.arguments[name]:
                raise TypeError(f"{type(self).__name__} takes *{name}: give all arguments by name")
        return found


def _made_by_fields(kind: type) -> bool:
    """Return whether ``__init__`` is that of a dataclass, whose fields are the arguments."""
    return "__dataclass_params__" in vars(
        next(base for base in kind.__mro__ if "__init__" in vars(base))
    )


def describe(part: Any) -> Any:
    """Describe a part as plain values: a class becomes ``{"class_path", "init_args"}``.

    It describes numbers, strings, paths, lists, mappings, classes, `functools.partial` of a class
    (also as jsonargparse makes them) and instances of `Configured`.

    Raises:
        InputError: the part is anything else, such as a function or a class that is no `Part`.
    """
    if isinstance(part, np.generic):
        part = part.item()  # NumPy's float64 is a subclass of float
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, Path):
        return str(part)
    if isinstance(part, list | tuple):
        return [describe(item) for item in part]
    if isinstance(part, Mapping):
        return {key: describe(value) for key, value in part.items()}
    if isinstance(part, Configured):
        return _spec(type(part), part.arguments)
    if isinstance(part, partial):
        # jsonargparse makes partial(its function, ..., class, **init_args)
        kind = (part.func, *part.args)[-1]
        by_parser = str(getattr(part.func, "__module__", "")).startswith("jsonargparse.")
        if inspect.isclass(kind) and (by_parser or not part.args):
            return _spec(kind, part.keywords)
    elif inspect.isclass(part):
        return _spec(part, {})
    raise _refused(part)


def _spec(kind: type, init_args: Mapping[str, Any]) -> dict[str, Any]:
    path = f"{kind.__module__}.{kind.__qualname__}"
    if "<" in path or not _is_part(kind):  # local to a function: nothing can import it
        raise _refused(kind)
    return {"class_path": path, "init_args": describe(init_args)}


def _is_part(kind: Any) -> bool:
    """Return whether a checkpoint may name this; see `Part`."""
    if not inspect.isclass(kind):
        return False
    if issubclass(kind, torch.nn.Module) and kind.__module__.startswith("torch.nn."):
        return True
    bases = {(base.__module__, base.__qualname__) for base in kind.__mro__}
    return issubclass(kind, Part | torch.optim.Optimizer) or _ESTIMATOR in bases


def _refused(part: Any) -> InputError:
    return InputError(
        f"{part!r} cannot be stored in a checkpoint, or made of one: give a class that derives "
        "from gile_lightning.common.factories.Part (as encoders, losses and all other kinds do), a "
        "module of torch.nn or an optimizer, or functools.partial of one with keyword arguments; "
        "no function, and nothing local to a function"
    )


def check_parts(config: Any) -> None:
    """Check that a configuration names parts alone, before any is made.

    It imports the classes, but makes none and calls no function. It does not even import the
    standard library, which has no parts.

    Args:
        config: plain values, or what a parser makes of them.

    Raises:
        InputError: it names something that is no `Part`, or does not exist.
    """
    if isinstance(config, Namespace):
        config = vars(config)
    if isinstance(config, Mapping):
        if isinstance(path := config.get("class_path"), str):
            import_part(path)
        for value in config.values():
            check_parts(value)
    elif isinstance(config, list | tuple | set):
        for value in config:
            check_parts(value)
    elif callable(config):
        describe(config)


def import_part(path: str) -> type:
    """Import a class by its path.

    Raises:
        InputError: it does not exist, or is no `Part`.
    """
    if path.partition(".")[0] in sys.stdlib_module_names:
        raise _refused(path)
    try:
        kind = import_object(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"cannot import {path}: {error}") from error
    if not _is_part(kind):
        raise _refused(path)
    return kind  # type: ignore[no-any-return]


def instantiate(
    kind: type, init_args: Mapping[str, Any], check: Callable[[Any], None] | None = None
) -> Any:
    """Make an instance of ``kind`` from arguments in plain values.

    Args:
        kind: the class.
        init_args: its arguments, as `describe` returns them.
        check: is called with the parsed arguments, before anything is made of them.
    """
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(kind, "part", fail_untyped=False)  # as the command line does
    config = parser.parse_object({"part": dict(init_args)})
    if check is not None:
        check(config)
    return parser.instantiate(config).part
