"""Bounds on plain values of a file, which may be far larger than the file."""

from collections.abc import Mapping
from typing import Any

from gile_lightning.common.errors import InputError

MOST = 100_000  # values; the largest shipped configuration has some hundred
DEEPEST = 100  # values within each other


def check_plain(value: Any, where: str) -> None:
    """Refuse values that are too many, or too deep within each other, to be settings.

    In YAML and in pickles a list may name another one many times, and that one a third: a file of
    a few lines then has more values than a computer can count. A list may even hold itself.

    Args:
        value: lists and mappings of plain values.
        where: names them, for messages.

    Raises:
        InputError: they are.
    """
    left, values = MOST, [(value, 0)]
    while values:
        found, depth = values.pop()
        inside = [*found.keys(), *found.values()] if isinstance(found, Mapping) else found
        if isinstance(inside, list | tuple | set):
            left -= len(inside)
            if left < 0:
                raise InputError(f"{where}: more than {MOST:,} values, which no settings have")
            if depth == DEEPEST:
                raise InputError(f"{where}: nested too deep")
            values += ((item, depth + 1) for item in inside)
