"""The one error that a user can cause and mend."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(Exception):
    """Bad input: the message names the file, line or key, and how to mend it.

    The commands print it without a traceback and leave with status 2.
    """


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known word most like ``word``, or ``""``."""
    lower = {name.lower(): name for name in sorted(known)}
    match = get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    return f"; did you mean {lower[match[0]]!r}?" if match else ""


def positive(**values: float) -> None:
    """Raise `InputError` naming every keyword whose value is not above zero."""
    wrong = [f"{name} is {value}" for name, value in values.items() if value <= 0]
    if wrong:
        raise InputError(f"must be above 0: {', '.join(wrong)}")
