"""Options that a command reads before its parser does."""

from collections.abc import Iterable, Sequence

from gile_lightning.common.errors import InputError

_FLAG = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def option(args: list[str], key: str) -> str | None:
    """Return the value of an option, such as ``--output``, among the arguments."""
    return pop_option(list(args), key)


def pop_option(args: list[str], key: str) -> str | None:
    """Remove an option and its value from the arguments; return the value.

    >>> args = ["--a", "1", "--b=2", "3"]
    >>> pop_option(args, "--b"), pop_option(args, "--c"), args
    ('2', None, ['--a', '1', '3'])
    """
    for i, arg in enumerate(args):
        if arg == key and i + 1 < len(args):
            del args[i]
            return args.pop(i)
        if arg.startswith(f"{key}="):
            return args.pop(i).partition("=")[2]
    return None


def pop_flag(args: list[str], key: str) -> bool:
    """Remove a flag from the arguments; return whether it was there, and not followed by false.

    Raises:
        InputError: another value follows an equals sign.

    >>> args = ["--a", "--b", "false", "--c", "3"]
    >>> pop_flag(args, "--a"), pop_flag(args, "--b"), pop_flag(args, "--d"), args
    (True, False, False, ['--c', '3'])
    """
    if key in args:
        i = args.index(key)
        del args[i]
        return not (i < len(args) and args[i].lower() in _FLAG) or _FLAG[args.pop(i).lower()]
    value = pop_option(args, key)
    if value is not None and value.lower() not in _FLAG:
        raise InputError(f"{key}={value}: give true or false")
    return value is not None and _FLAG[value.lower()]


def options(args: Sequence[str], *keys: str) -> list[str]:
    """Return the values of options that may stand several times, in order.

    >>> options(["--a", "1", "--b", "2", "-a", "3", "--a=4"], "--a", "-a")
    ['1', '3', '4']
    """
    found = []
    for arg, following in zip(args, [*args, ""][1:], strict=True):
        key, equals, value = arg.partition("=")
        if key in keys:
            found.append(value if equals else following)
    return found


def classes_first(args: Iterable[str]) -> list[str]:
    """Move an option that names a class before the options of that class.

    The parser reads options in order. It drops a key that a class named later lacks. Options stay
    behind a configuration file that they follow, as they override it.

    >>> classes_first(["--a.b.c", "1", "--d=2", "--a.b", "Class"])
    ['--a.b', 'Class', '--a.b.c', '1', '--d=2']
    """
    options: list[list[str]] = []  # each with its values
    for arg in args:
        if arg.startswith(("--", "-c")) or not options:
            options.append([arg])
        else:
            options[-1].append(arg)
    ordered: list[list[str]] = []
    start = 0  # behind the last configuration file
    for words in options:
        key = words[0].partition("=")[0]
        places = range(start, len(ordered))
        parts = (i for i in places if ordered[i][0].startswith(f"{key}."))
        ordered.insert(next(parts, len(ordered)), words)
        if key in ("--config", "-c"):
            start = len(ordered)
    return [word for words in ordered for word in words]
