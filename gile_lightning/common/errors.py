"""Errors that a user can cause and fix."""

import errno
import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

# what PyTorch, C++ and Python say in errors of other kinds
_NO_MEMORY = (
    *("not enough memory", "can't allocate memory", "Cannot allocate memory", "Unable to allocate"),
    *("std::bad_alloc", "can't start new thread", "failed to map segment from shared object"),
)

# what a file, or a folder in its place, can cause
_OF_THE_FILE = (
    *(errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.EINVAL),
    *(errno.ENAMETOOLONG, errno.ELOOP),
)

_MOST = 10_000  # names in a folder that are compared
_LONGEST = 200  # characters of a word that others are compared with


class InputError(Exception):
    """Bad input: the message names the file, line or key, and the fix.

    The commands print it without a traceback and exit with status 2.
    """


class DivergedError(InputError):
    """The loss, weights or scores are not finite any more."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}: training diverged; lower the learning rate (model.optimizer), clip gradients "
            "(--trainer.gradient_clip_val 1) or compute in float32 (--trainer.precision 32-true), "
            "and start again, or go on from an earlier checkpoint"
        )


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory has run out; see `memory_error`."""
    return memory_error(error) is not None


def memory_error(error: BaseException) -> BaseException | None:
    """Return the first of an error and its causes that says that memory has run out.

    It is that of the machine or of a GPU. Above it SciPy says of itself that it seems to be broken.
    """
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        own = isinstance(cause, MemoryError) or type(cause).__name__ == "OutOfMemoryError"
        if own or any(words in str(cause) for words in _NO_MEMORY):
            return cause
        chain.append(cause)
        cause = cause.__cause__
    return None


def of_the_machine(error: BaseException) -> bool:
    """Whether the machine could not read a file, which may be sound: no memory, too many files."""
    number = error.errno if isinstance(error, OSError) else None
    return out_of_memory(error) or number not in (None, *_OF_THE_FILE)


def nearest(word: str, words: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the most similar of the words, or ``""``."""
    if len(word) > _LONGEST:  # comparing takes time by the square of the length
        return ""
    lower = {name.lower(): name for name in sorted(words) if len(name) <= _LONGEST}
    match = get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    return f"; did you mean {lower[match[0]]!r}?" if match else ""


def nearest_file(path: Path | str) -> str:
    """Say what is there in the place of a file, or `nearest` of the names beside it."""
    path = Path(path)
    try:
        if path.is_dir():
            return ", but a folder"
        names = [name for name in os.listdir(path.parent) if name != path.name]
    except (OSError, ValueError):  # the latter for names with a null
        return ""
    return nearest(path.name, names) if len(names) <= _MOST else ""


def positive(**values: float) -> None:
    """Raise `InputError` that names every keyword whose value is not above zero."""
    wrong = [f"{name} is {value}" for name, value in values.items() if value <= 0]
    if wrong:
        raise InputError(f"must be above 0: {', '.join(wrong)}")
