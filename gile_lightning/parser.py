"""Argument parsing that says what is wrong first, with the nearest known key."""

import functools
import inspect
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import jsonargparse
from jsonargparse import ArgumentParser
from lightning.pytorch.cli import LightningArgumentParser

from gile_lightning.errors import InputError, nearest

_UNKNOWN_FLAG = re.compile(r"[Uu]nrecognized arguments: --([\w.]+)")
_UNKNOWN_OPTION = re.compile(r"[Oo]ption '([\w.]+)' is not accepted")
_UNKNOWN_IN_GROUP = re.compile(r"Group '([\w.]+)' does not accept option '([\w.]+)'")
_UNKNOWN_KEY = re.compile(
    r"[Kk]ey '([\w.]+)' is not expected|does not accept (?:option|key) '([\w.]+)'"
)
_CLASS = re.compile(r"class_path[ =]'([\w.]+)'")
_NO_CLASS = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_VALUE = re.compile(r'Parser key "([\w.]+)":\s+(Expected [^\n]*?Got value: [^\n]*)')
_REFUSED = re.compile(r"Errors:\s+- (.*)\n\s+- Expected a <class 'NoneType'>")
_REQUIRED = re.compile(r"the following arguments are required: (.*)")


class ErrorFirst(ArgumentParser):
    """A parser that says what is wrong first, and how to get help last."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Print the error with its remedy, then the usage, and leave with status 2."""
        if not self.exit_on_error:
            super().error(message, ex)
        program = self.prog.replace(" [options]", "")
        sys.stderr.write(f"error: {self.explain(message)}\n")
        sys.stderr.write(f"usage: {program} [--config FILE] [--KEY VALUE ...]\n")
        sys.stderr.write(f"       {program} --help lists every key\n")
        sys.exit(2)

    def explain(self, message: str) -> str:
        """Say what a parser's message means, with the nearest known key."""
        flags = {action.dest for action in self._actions}
        classes = _CLASS.findall(message)
        if match := _UNKNOWN_IN_GROUP.search(message):
            group, key = match.groups()
            known = {flag[len(group) + 1 :] for flag in flags if flag.startswith(f"{group}.")}
            return f"unknown key {key!r} in {group!r}{nearest(key, known)}"
        if match := _UNKNOWN_OPTION.search(message):
            key = match.group(1)
            known = {name for path in classes for name in _parameters(path)}
            return f"unknown key {key!r} of {', '.join(classes)}{nearest(key, known)}"
        if match := _UNKNOWN_FLAG.search(message) or _UNKNOWN_KEY.search(message):
            key = next(group for group in match.groups() if group)
            return f"unknown key {key!r}{nearest(key, flags)}"
        if match := _NO_CLASS.search(message):
            module, name = match.groups()
            known = set(dir(sys.modules.get(module)))
            return f"there is no {name!r} in {module}{nearest(name, known)}"
        if match := _REQUIRED.search(message):
            return f"missing: {match.group(1)}; give it as --KEY VALUE or in a file (--config FILE)"
        if (match := _REFUSED.search(message)) and "Problem" not in match.group(1):
            return match.group(1)  # the constructor's own words
        if values := _VALUE.findall(message):
            return "; ".join(f"{key}: {problem}" for key, problem in values)
        return message


class Parser(ErrorFirst, LightningArgumentParser):
    """The parser of the commands that take a whole configuration."""


def _parameters(class_path: str) -> list[str]:
    """List what a class can be given, as the parser sees it."""
    try:
        parser = ArgumentParser(exit_on_error=False)
        kind = jsonargparse.typing.import_object(class_path)  # type: ignore[attr-defined]
    except Exception:
        return []
    if not inspect.isclass(kind):
        return []
    return [str(name) for name in parser.add_class_arguments(kind)]


def parse(function: Callable[..., Any], args: list[str] | None, prog: str) -> dict[str, Any]:
    """Parse a command's arguments after the signature and docstring of its function."""
    description = (function.__doc__ or "").partition("Args:")[0]
    parser = ErrorFirst(prog=prog, description=description, allow_abbrev=False)
    parser.add_argument("--config", action="config", help="YAML file with any of these keys.")
    parser.add_function_arguments(function, as_group=False)
    config = parser.parse_args(args)
    return {key: value for key, value in config.as_dict().items() if key != "config"}


def command(main: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command print a user's mistake without a traceback and leave with status 2."""

    @functools.wraps(main)
    def run(args: list[str] | None = None) -> Any:
        try:
            return main(args)
        except InputError as error:
            sys.stderr.write(f"error: {error}\n")
            sys.exit(2)
        except KeyboardInterrupt:
            sys.stderr.write("interrupted\n")
            sys.exit(130)

    return run
