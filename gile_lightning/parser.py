"""Argument parsing that says what is wrong first, with the nearest known key."""

import errno
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import jsonargparse
from jsonargparse import ArgumentParser
from lightning.pytorch.cli import LightningArgumentParser

from gile_lightning.errors import InputError, nearest

_UNKNOWN_FLAG = re.compile(r"[Uu]nrecognized arguments: --([\w.-]+)")
_UNKNOWN_OPTION = re.compile(r"[Oo]ption '([\w.-]+)' is not accepted")
_UNKNOWN_IN_GROUP = re.compile(r"Group '([\w.]+)' does not accept option '([\w.-]+)'")
_CLASS = re.compile(r"class_path[ =]'([\w.]+)'")
_NO_CLASS = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_NO_FILE = re.compile(r"Parser key \"config\": (?:File does not exist|Path is not a file): '(.*)'")
_NO_YAML = re.compile(r"Problems parsing config: (.*)", re.DOTALL)
_NO_KEYS = re.compile(r"Unexpected config: ")
_REQUIRED = re.compile(r"the following arguments are required: (.*)")
_KEY = re.compile(r'Parser key "([\w.-]+)":')
_EXPECTED = re.compile(r"Expected a (?:<class '([\w.]+)'>|typing\.Literal\[(.*?)\])")
# the library would take the last part of the list
_OF_A_LIST = re.compile(
    r"--(model\.(?:init_args\.)?(?:channels|(?:label_)?encoder\.(?:init_args\.)?encoders))\."
)
_VALUE = re.compile(r"G(?:ot|iven) value: (.*?)(?:\. Got value: .*)?$", re.MULTILINE)
_NO_PATH = re.compile(r"Expected a dot import path string: (\S*\w)")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_NO_SUBCLASS = re.compile(
    r"Expected '([\w.]+)' to be a subclass of <class '(\w+)'>"
    r"|Import path ([\w.]+) does not correspond to a subclass of (\w+)"
)


class ErrorFirst(ArgumentParser):
    """A parser that says what is wrong first, and how to get help last."""

    options = "[--config FILE] [--KEY VALUE ...]"
    more_help = ""
    _reading = ""  # the configuration file at hand

    def parse_path(self, path: Any, *args: Any, **kwargs: Any) -> Any:
        """Parse a configuration file; an error in it names the file."""
        self._reading = f"{path}: "
        config = super().parse_path(path, *args, **kwargs)
        self._reading = ""
        return config

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, *more: Any, **kwargs: Any
    ) -> Any:
        """Parse arguments; ``null`` stays null for keys of parts within parts.

        The library passes the value of such a key on as text, after reading it: as ``None``.
        """
        if args is not None:
            for arg in args:
                if match := _OF_A_LIST.match(arg):
                    key = match.group(1)
                    self.error(
                        f"{arg.partition('=')[0][2:]}: {key} is a list; give the whole of it in a "
                        f"file, or as --{key} '[{{class_path: ..., init_args: {{...}}}}, ...]'"
                    )
            args = [re.sub(r"^(--[\w.-]+)=None$", r"\1=null", arg) for arg in args]
        return super().parse_args(args, *more, **kwargs)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Print the error with its remedy, then the usage, and leave with status 2."""
        if not self.exit_on_error:
            super().error(message, ex)
        program = self.prog.replace(" [options]", "")
        sys.stderr.write(f"error: {self._reading}{self.explain(message)}\n")
        sys.stderr.write(f"usage: {program} {self.options}\n")
        sys.stderr.write(f"       {program} --help lists every key{self.more_help}\n")
        sys.exit(2)

    def explain(self, message: str) -> str:
        """Say in one line what a parser's message means, with the nearest known key."""
        explained = self._unknown_key(message) or self._file(message) or _wrong_value(message)
        if not explained and (match := _REQUIRED.search(message)):
            names = match.group(1)
            explained = f"missing: {names}; give it as --KEY VALUE or in a file (--config FILE)"
        return explained or " ".join(message.split())

    def _unknown_key(self, message: str) -> str:
        flags = {action.dest for action in self._actions}
        classes = _CLASS.findall(message)[::-1]  # of nested ones, the innermost first
        if match := _UNKNOWN_IN_GROUP.search(message):
            group, key = match.groups()
            known = {flag[len(group) + 1 :] for flag in flags if flag.startswith(f"{group}.")}
            return f"unknown key {key!r} in {group!r}{nearest(key, known)}"
        if match := _UNKNOWN_OPTION.search(message) or _UNKNOWN_FLAG.search(message):
            key = match.group(1)
            if classes:
                for path in classes:
                    known = set(_parameters(path))
                    if near := nearest(key, known) or nearest(key.partition(".")[0], known):
                        return f"unknown key {key!r} of {path}{near}"
                takes = ", ".join(sorted(_parameters(classes[0])))
                return f"unknown key {key!r} of {classes[0]}; it takes {takes}"
            top = nearest(key.partition(".")[0], {flag.partition(".")[0] for flag in flags})
            return f"unknown key {key!r}{nearest(key, flags) or top}"
        if match := _NO_CLASS.search(message):
            module, name = match.groups()
            found = vars(sys.modules[module]).items() if module in sys.modules else ()
            known = {name for name, part in found if callable(part)}
            return f"there is no {name!r} in {module}{nearest(name, known)}"
        return ""

    def _file(self, message: str) -> str:
        if match := _NO_FILE.search(message):
            return f"{match.group(1)}: no such file (--config)"
        if match := _NO_YAML.search(message):
            return f"not readable as YAML: {' '.join(match.group(1).split())}"
        if _NO_KEYS.search(message):
            return "expected keys with values (YAML), as --print_config shows them"
        return ""


def _wrong_value(message: str) -> str:
    """Name the key, what it takes and what was given."""
    keys = _KEY.findall(message)
    if not keys:
        return ""
    key = ".".join(keys)
    if match := _NO_MODULE.search(message):
        return f"{key}: there is no module {match.group(1)!r}"
    if match := _NO_SUBCLASS.search(message):
        path, kind = [group for group in match.groups() if group]
        return f"{key}: {path} is no {kind}"
    problem = message[message.rindex("Parser key ") :]
    expected = {
        kind or " or ".join(values.split(", ")): None for kind, values in _EXPECTED.findall(problem)
    }
    expected.pop("NoneType", None)
    value = _VALUE.search(problem)
    if expected and value:
        return f"{key}: expected {' or '.join(expected)}, not {value.group(1)!r}"
    if match := _NO_PATH.search(problem):
        name = match.group(1)
        remedy = nearest(name, _parts()) or "; give an import path"
        if key == "model":
            remedy = "; give an import path, such as gile_lightning.baselines.Popularity"
        return f"{key}: there is no {name!r}{remedy}"
    return ""


def _parts() -> set[str]:
    """Return the names of the package's classes, which can be given without their module."""
    modules = [kept for name, kept in sys.modules.items() if name.startswith("gile_lightning.")]
    parts = (item for module in modules for item in vars(module).items())
    return {name for name, part in parts if inspect.isclass(part)}


class Parser(ErrorFirst, LightningArgumentParser):
    """The parser of the commands that take a whole configuration."""

    more_help = "; --model.help TextClassifier and --data.help CLASS those of a part"


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


def parse(
    function: Callable[..., Any], args: list[str] | None, prog: str, positional: bool = False
) -> dict[str, Any]:
    """Parse a command's arguments after the signature and docstring of its function.

    Those without a default are given by name, or by position if ``positional``.
    """
    description = (function.__doc__ or "").partition("Args:")[0]
    parser = ErrorFirst(prog=prog, description=description, allow_abbrev=False)
    parser.add_argument("--config", action="config", help="YAML file with any of these keys.")
    parser.add_function_arguments(function, as_group=False, as_positional=positional)
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
        except BrokenPipeError:  # nobody reads on, as with `| head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            place = f"{error.filename}: " if error.filename else ""
            sys.stderr.write(f"error: {place}{error.strerror}; make room first\n")
            sys.exit(2)
        except KeyboardInterrupt:
            sys.stderr.write("interrupted\n")
            sys.exit(130)

    return run
