"""Scripts by which a shell completes commands, keys and values, written by shtab.

A script has all words in it. So no Python runs when a shell completes.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from gile_lightning.commands.parser import actions_of, parser_of
from gile_lightning.commands.shipped import SHIPPED
from gile_lightning.common.errors import InputError

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "gile_lightning"

_FILES = {"checkpoint", "ckpt_path", "explain", "file", "input", "output", "path", "start_from"}
_FLAGS = {
    "quiet": "Print only results and errors.",
    "json": "Print the results as one JSON object.",
}
# options that a command reads before its parser does
_READ_BEFORE = {
    "evaluate": {"checkpoint": "Checkpoint file or run folder."},
    "rerank": {"checkpoint": "Checkpoint file or run folder."},
    "low_resource": {
        "language": "The target language.",
        "levels": "Of tiny, small and medium, with commas between them.",
    },
}
_SWITCHES_BEFORE = {"evaluate": {"rerank": "Rank the best labels anew, by the second stage."}}


def completion(shell: str, commands: Mapping[str, str]) -> str:
    """Return the script for a shell.

    Args:
        shell: one of `SHELLS`.
        commands: what each of them does, by its name.

    Raises:
        InputError: there is no script for the shell, or shtab is missing.
    """
    if shell not in SHELLS:
        raise InputError(f"--completion: {shell!r} is none of {', '.join(SHELLS)}")
    try:
        import shtab
    except ImportError as error:
        raise InputError(
            "--completion needs shtab: pip install 'gile_lightning[completion]'"
        ) from error
    root = argparse.ArgumentParser(prog=PROGRAM)
    root.add_argument("--completion", choices=SHELLS, help="Print the script for a shell.")
    below = root.add_subparsers()
    import_module("gile_lightning.systems.baselines")  # so that they are known
    for name, text in commands.items():
        _add_options(below.add_parser(name, help=text, description=text), name)
    script: str = shtab.complete(root, shell)
    return script


def _add_options(parser: argparse.ArgumentParser, command: str) -> None:
    """Give a plain parser the options of a command."""
    module = "fit" if command == "low_resource" else command  # it takes what fit takes
    made = parser_of(import_module(f"gile_lightning.{module}").main)
    for name, text in _READ_BEFORE.get(command, {}).items():
        _add(parser, f"--{name}", text)
    for name, text in _SWITCHES_BEFORE.get(command, {}).items():
        _add(parser, f"--{name}", text, flag=True)
    for action in made._actions:
        hint = getattr(action, "_typehint", None)
        for name in action.option_strings or [action.dest]:
            if name.startswith(("--", action.dest)) and action.help != argparse.SUPPRESS:
                _add(parser, name, action.help, hint, flag=action.nargs == 0)
        if action.dest in ("model", "data"):
            _add_parts(parser, f"--{action.dest}", hint, depth=2)
    for name, text in _FLAGS.items():
        _add(parser, f"--{name}", text, flag=True)


def _add_parts(parser: argparse.ArgumentParser, key: str, hint: Any, depth: int) -> None:
    """Add the keys of all classes that a key may name."""
    if not depth:
        return
    for kind in _classes(hint):
        for action in actions_of(kind):
            own = getattr(action, "_typehint", None)
            _add(parser, f"{key}.{action.dest}", action.help, own)
            _add_parts(parser, f"{key}.{action.dest}", own, depth - 1)


def _add(
    parser: argparse.ArgumentParser,
    name: str,
    text: str | None,
    hint: Any = None,
    flag: bool = False,
) -> None:
    """Add an option, or what values one of this name may have beside those that it has."""
    values = list(dict.fromkeys(_values(hint)))
    if before := parser._option_string_actions.get(name):  # of another class
        before.choices = [*dict.fromkeys([*(before.choices or ()), *values])] or None
        return
    help_ = " ".join((text or "").split()).partition(" (")[0].replace("%", "%%")
    if flag:
        parser.add_argument(name, action="store_true", help=help_)
        return
    last = name.rpartition(".")[2].lstrip("-")
    action = parser.add_argument(name, help=help_, choices=values or None)
    if last == "config":
        names = sorted(path.stem for path in SHIPPED.glob("*.yaml"))
        action.complete = _files_and(names)  # type: ignore[attr-defined]
    elif not values and (last in _FILES or _has(hint, Path)):
        action.complete = _files_and([])  # type: ignore[attr-defined]


def _files_and(words: list[str]) -> dict[str, Any]:
    """Return what completes a file or one of some words, by shell."""
    listed = " ".join(words)
    function = "_gile_lightning_file_or_word"
    body = f'{function}() {{ compgen -f -- "$1"; compgen -W "{listed}" -- "$1"; }}'
    own = {"bash": function, "preamble": {"bash": body}} if words else {}
    return {
        "bash": "_shtab_compgen_files",
        "zsh": f"{{_files; compadd -- {listed}}}" if words else "_files",
        "fish": f"(__fish_complete_path (commandline -ct)) {listed}".strip(),
        **own,
    }


def _parts(hint: Any) -> Iterator[Any]:
    """Yield the types that a type is made of, and what a callable returns."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        for own in get_args(hint):
            yield from _parts(own)
    elif origin is not None and origin is Callable:
        yield from _parts(get_args(hint)[-1])
    else:
        yield hint


def _has(hint: Any, kind: type) -> bool:
    return any(part is kind for part in _parts(hint))


def _values(hint: Any) -> Iterator[str]:
    """Yield the values of a type, if they can be listed."""
    for part in _parts(hint):
        if part is bool:
            yield from ("true", "false")
        elif get_origin(part) is Literal:
            yield from map(str, get_args(part))
    yield from (f"{kind.__module__.rpartition('.')[0]}.{kind.__name__}" for kind in _classes(hint))


def _classes(hint: Any) -> Iterator[type]:
    """Yield the classes of the package that a key of a type may name."""
    for part in _parts(hint):
        if isinstance(part, type) and part.__module__.startswith("gile_lightning."):
            yield from _below(part)


def _below(kind: type) -> Iterator[type]:
    if kind.__module__.startswith("gile_lightning."):
        if not getattr(kind, "__abstractmethods__", None) and not kind.__name__.startswith("_"):
            yield kind
        children: list[type] = kind.__subclasses__()
        for child in children:
            yield from _below(child)
