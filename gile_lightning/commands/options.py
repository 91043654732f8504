"""Options that a command reads before its parser does."""


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
