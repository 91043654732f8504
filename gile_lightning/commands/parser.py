"""Argument parsing that says what is wrong first, with the nearest known key."""

import argparse
import errno
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

import jsonargparse
from jsonargparse import ActionConfigFile, ArgumentParser  # type: ignore[attr-defined]

from gile_lightning.commands.overlay import ConfigFile, replace_lists
from gile_lightning.commands.shipped import find_configuration, with_bases
from gile_lightning.common.console import FLAGS, MANNERS, complain, manners, take_flags
from gile_lightning.common.errors import InputError, memory_error, nearest
from gile_lightning.common.files import NO_ROOM

# what jsonargparse says
_KEY = re.compile(r'Parser key "([\w.-]+)":')
_CLASS = re.compile(r"class_path[ =]'([\w.]+)'")
_UNKNOWN_KEY = re.compile(r"(?:Group '([\w.]+)'.*)?(?:ption '|nrecognized arguments: --)([\w.-]+)")
_UNKNOWN_NAME = re.compile(
    r"(?:import path string: |has no attribute '|No module named ')([\w.]*\w)"
)
_EXPECTED = re.compile(r"Expected a (?:<class '|typing\.Literal\[)(.*?)(?:'>|\])")

_CONFIG = ("--config", "-c")
_FOLDERS = (
    "what is read must be readable, the folders of --output and of the cache (--data.cache_dir, "
    "XDG_CACHE_HOME) writable: choose others"
)
_KINDS = "a file stands where a folder is needed, or a folder where a file is: give another path"
_REMEDIES = {
    **dict.fromkeys(NO_ROOM, "make room first"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _FOLDERS),
    **dict.fromkeys((errno.EEXIST, errno.EISDIR, errno.ENOTDIR), _KINDS),
    errno.EMFILE: "raise the limit of open files first (ulimit -n)",
    errno.ENFILE: "the machine has too many open files; start again when others have ended",
    errno.EIO: "the disk or its connection is broken; start again where it works",
    errno.ESTALE: "the network disk has gone away; start again when it is back",
    errno.EFBIG: "raise its limit first",
    errno.ENAMETOOLONG: "give a shorter one",
}
# keys within lists, of which the library would read the last item
_LIST_ITEM = re.compile(
    r"--(model\.(?:init_args\.)?(?:matchers|(?:label_)?encoder\.(?:init_args\.)?encoders))\."
)


class ErrorFirst(ArgumentParser):
    """A parser that says what is wrong first, and how to get help last."""

    options = "[--config FILE] [--KEY VALUE ...]"
    wanted = False  # whether to hand over a parser in place of parsing; see `parser_of`
    more_help = ""
    _reading = ""  # the configuration file at hand

    def add_argument(self, *args: Any, **kwargs: Any) -> Any:
        """Add an argument; the lists of configuration files replace those of earlier ones."""
        if kwargs.get("action") in ("config", ActionConfigFile):
            kwargs["action"] = ConfigFile
        return super().add_argument(*args, **kwargs)

    def parse_path(self, path: Any, *args: Any, **kwargs: Any) -> Any:
        """Parse a configuration file; an error in it names the file."""
        self._reading = f"{path}: "
        config = super().parse_path(path, *args, **kwargs)
        self._reading = ""
        return config

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, *more: Any, **kwargs: Any
    ) -> Any:
        """Parse arguments; ``--config`` accepts the name of a shipped configuration, too.

        The first file comes after those that it is laid over; see `with_bases`.
        """
        if ErrorFirst.wanted:
            raise _Made(self)
        arguments = list(sys.argv[1:] if args is None else args)
        files: list[str] = []
        for i, arg in enumerate(arguments):
            key, equals, value = arg.partition("=")
            if match := _LIST_ITEM.match(arg):
                self.error(
                    f"{key[2:]}: {match[1]} is a list; give all of it in a file, or as "
                    f"--{match[1]} '[{{class_path: ..., init_args: {{...}}}}, ...]'"
                )
            if key == "--base":
                self.error("base is a key of files: give that file first, with --config")
            if key in _CONFIG and equals:
                files.append(find_configuration(value))
                arguments[i] = f"{key}={files[-1]}"
            elif key in _CONFIG and i + 1 < len(arguments):
                files.append(find_configuration(arguments[i + 1]))
                arguments[i + 1] = files[-1]
            elif value == "None" and key.startswith("--"):
                # so the library passes on the null of a part within a part, after reading it
                arguments[i] = f"{key}=null"
            elif self._is_switch(arg) and all(x[:2] == "--" for x in arguments[i + 1 : i + 2]):
                arguments[i] = f"{key}=true"  # it is the last one, or another key follows
        bases = with_bases(files[0])[:-1] if files else []
        files_first = [*(f"--config={x}" for x in bases), *replace_lists(arguments)]
        return super().parse_args(files_first, *more, **kwargs)

    def _is_switch(self, key: str) -> bool:
        """Return whether a key is true or false; it then needs no value."""
        return getattr(self._option_string_actions.get(key), "_typehint", None) is bool

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Print the error with its remedy, then the usage, and leave with status 2."""
        if not self.exit_on_error:
            super().error(message, ex)
        program = self.prog.replace(" [options]", "")
        complain(f"{self._reading}{self.explain(message, ex)}", error=True)
        complain(f"usage: {program} {self.options}")
        complain(f"       {program} --help lists every key{self.more_help}")
        sys.exit(2)

    def explain(self, message: str, cause: BaseException | None = None) -> str:
        """Say in one line what a parser's message means, with the nearest known key or name."""
        if "are required: " in message:
            names = message.partition("are required: ")[2]
            return f"missing: {names}; give it as --KEY VALUE or in a file (--config FILE)"
        if "Unexpected config: " in message:
            return "expected keys with values (YAML), as --print_config shows them"
        if match := _UNKNOWN_KEY.search(message):
            return self._unknown_key(match[1], match[2], _CLASS.findall(message)[::-1])
        keys = _KEY.findall(message)
        if not keys:
            return " ".join(message.split())
        problem = message[message.rindex("Parser key ") :]
        expected = dict.fromkeys(_EXPECTED.findall(problem))
        expected.pop("NoneType", None)
        if expected:
            value = problem.partition("value: ")[2].partition("\n")[0].partition(". Got value")[0]
            kinds = " or ".join(expected).replace("', '", "' or '")
            reason = f"expected {kinds}, not {value!r}"
            if "str" in expected and value in ("True", "False"):
                reason += "; put it in quotes, since YAML reads yes and no as true and false"
        elif match := _UNKNOWN_NAME.search(problem):
            known = _classes(problem)
            path = known.get(match[1])
            near = f"; its import path is {path}" if path else nearest(match[1], known)
            reason = f"there is no {match[1]!r}{near or '; give an import path'}"
        else:
            while cause is not None and cause.__cause__ is not None:
                cause = cause.__cause__
            reason = " ".join(str(cause or problem).split())
        return f"{'.'.join(keys)}: {reason}"

    def _unknown_key(self, group: str | None, key: str, classes: list[str]) -> str:
        """Name the nearest key of the classes, the innermost of which comes first, or of these."""
        if group is not None:
            key = f"{group}.{key}"
        owners = {f" of {path}": _parameters(path) for path in classes}
        flags = [flag.removeprefix("--") for flag in FLAGS]
        owners = owners or {"": [*(action.dest for action in self._actions), *flags]}
        for owner, known in owners.items():
            # as a whole, or by its first part: ouput.joint_dim
            if near := nearest(key, known) or nearest(key.partition(".")[0], known):
                return f"unknown key {key!r}{owner}{near}"
        owner, known = next(iter(owners.items()))
        accepts = f"; it takes {', '.join(sorted(known))}" if owner else ""
        return f"unknown key {key!r}{owner}{accepts}"


def _classes(message: str) -> dict[str, str]:
    """Return the import paths of the package's classes, and those in modules a message names."""
    import_module("gile_lightning.systems.baselines")  # which no other module imports
    named = message.split("'")
    return {
        name: f"{module}.{name}"
        for module, kept in list(sys.modules.items())
        if module.startswith("gile_lightning.") or module in named
        for name, part in vars(kept).items()
        if inspect.isclass(part)
    }


def _parameters(class_path: str) -> list[str]:
    """List the arguments of a class, as the parser sees them."""
    try:
        parser = ArgumentParser(exit_on_error=False)
        kind = jsonargparse.typing.import_object(class_path)  # type: ignore[attr-defined]
        return [str(name) for name in parser.add_class_arguments(kind)]
    except Exception:  # no class, or none that the parser can read
        return []


def actions_of(kind: type) -> list[argparse.Action]:
    """Return what a parser would have for the arguments of a class."""
    parser = ArgumentParser(exit_on_error=False)
    names = parser.add_class_arguments(kind)
    return [action for action in parser._actions if action.dest in names]


class _Made(Exception):  # noqa: N818 - no error
    """Carries a parser."""


def parser_of(main: Callable[..., Any]) -> ErrorFirst:
    """Return the parser that a command makes for its arguments, which it does not parse."""
    ErrorFirst.wanted = True
    try:
        main(["--help"])
    except _Made as made:
        parser: ErrorFirst = made.args[0]
        return parser
    finally:
        ErrorFirst.wanted = False
    raise ValueError("a command without a parser")


def parse(
    function: Callable[..., Any], args: list[str] | None, prog: str, positional: bool = False
) -> dict[str, Any]:
    """Parse the arguments of a command by the signature and docstring of its function.

    Those without a default are options, or positions if ``positional``.
    """
    description = (function.__doc__ or "").partition("Args:")[0]
    parser = ErrorFirst(prog=prog, description=description, epilog=MANNERS, allow_abbrev=False)
    parser.add_argument("--config", action="config", help="YAML file with any of these keys.")
    parser.add_function_arguments(function, as_group=False, as_positional=positional)
    config = parser.parse_args(args)
    return {key: value for key, value in config.as_dict().items() if key != "config"}


def command(main: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command its manners: ``--quiet`` and ``--json``, errors in a line, exit codes.

    docs/commands.md has the codes.
    """

    @functools.wraps(main)
    def run(args: list[str] | None = None) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        flags = take_flags(given)
        try:
            with manners(**flags):
                return main(given)
        except InputError as error:
            complain(str(error), error=True)
            sys.exit(2)
        except BrokenPipeError:  # nobody reads on, as with `| head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except KeyboardInterrupt:
            complain("interrupted")
            sys.exit(130)
        except Exception as error:
            told = _surroundings(error)
            if told is None:
                raise
            complain(told, error=True)
            sys.exit(2)

    return run


def _surroundings(error: Exception) -> str | None:
    """Say in one line what is wrong with disk or memory; None if the error is of another kind."""
    if isinstance(error, OSError) and error.errno in _REMEDIES:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}; {_REMEDIES[error.errno]}"
    reason = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, RuntimeError) and "allocate shared memory" in reason:  # PyTorch's own
        return f"{reason}; make room in /dev/shm first (docker run --shm-size 1g)"
    if (cause := memory_error(error)) is not None:
        reason = " ".join(str(cause).split()) or type(cause).__name__
        return (
            f"out of memory: {reason}; lower the batch size (--data.batch_size, "
            "--data.eval_batch_size, of predict --batch_size; --length.larger_batches false), or "
            "take a machine with more"
        )
    return None
