"""Parts of a model as plain values, so that a checkpoint holds no code."""

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
    """What a checkpoint may name by its import path, to be made of its arguments when it is read.

    A checkpoint of unknown origin may name anything. So only these are made: classes that derive
    from `Part`, modules of torch.nn, and optimizers and estimators that derive from PyTorch's and
    scikit-learn's base classes. A function is never called.

    Encoders, output layers, samplers, losses and all other kinds derive from `Part` already. A
    module of your own for another place, such as a norm or an activation, has to as well.
    """

    __slots__ = ()


class Configured(Part):
    """A part that is given ready made, and knows the arguments that it was made with.

    These are the arguments of the call that made it, which ``__new__`` sees as they are, whatever
    ``__init__`` does with them. So a subclass has nothing to do to be stored whole.
    """

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep the arguments."""
        if cls.__init__ is object.__init__ and (args or kwargs):  # which Python now lets pass
            raise TypeError(f"{cls.__name__}() takes no arguments")
        part = super().__new__(cls)
        if not _made_by_fields(cls):
            object.__setattr__(part, "_made_with", (args, kwargs))
        return part

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by name, with the defaults of those that were left out.

        Raises:
            TypeError: some are not named (``*args``).
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
    """Whether ``__init__`` is that of a dataclass, whose fields are the arguments."""
    return "__dataclass_params__" in vars(
        next(base for base in kind.__mro__ if "__init__" in vars(base))
    )


def describe(part: Any) -> Any:
    """Describe a part as plain values: a class becomes ``{"class_path", "init_args"}``.

    Understands numbers, strings, paths, lists, mappings, classes, `functools.partial` of a class
    (also as jsonargparse makes them) and instances of `Configured`.

    Raises:
        InputError: the part is something else, such as a function, or a class that is no `Part`.
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
    """Whether a checkpoint may name this; see `Part`."""
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
    """Refuse a configuration that names what is no `Part`, before anything is made of it.

    Classes are imported for it, but none is made and no function is called. The standard library,
    which has no parts, is not even imported.

    Args:
        config: plain values, or what a parser has made of them.

    Raises:
        InputError: it names something else, or something that is not there.
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
        InputError: it is not there, or no `Part`.
    """
    if path.partition(".")[0] in sys.stdlib_module_names:
        raise _refused(path)
    try:
        kind = import_object(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{path} is not to be had here: {error}") from error
    if not _is_part(kind):
        raise _refused(path)
    return kind  # type: ignore[no-any-return]


def instantiate(
    kind: type, init_args: Mapping[str, Any], check: Callable[[Any], None] | None = None
) -> Any:
    """Make an instance of ``kind`` from described arguments.

    Args:
        kind: the class.
        init_args: its arguments, as `describe` returns them.
        check: is given the arguments as they are understood, before anything is made of them.
    """
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(kind, "part", fail_untyped=False)  # as the command line does
    config = parser.parse_object({"part": dict(init_args)})
    if check is not None:
        check(config)
    return parser.instantiate(config).part
