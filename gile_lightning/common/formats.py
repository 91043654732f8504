"""Format numbers of what is kept on disk, so that no version misreads what another has written."""

from pathlib import Path
from typing import Any

from gile_lightning.common.errors import InputError


def check_format(place: Path | str, found: Any, newest: int, remedy: str, oldest: int = 1) -> None:
    """Refuse a file or folder of a format that this version cannot read.

    Args:
        place: what was read.
        found: the number there; anything but an integer is none.
        newest: the highest number that this version reads, which it also writes.
        remedy: what to do with an older one.
        oldest: the lowest number that this version reads.

    Raises:
        InputError: the number is above ``newest``, below ``oldest``, or none.
    """
    known = str(newest) if oldest == newest else f"{oldest} to {newest}"
    whole = isinstance(found, int) and not isinstance(found, bool)
    named = f"of format {found}" if whole else "of no known format"
    problem = f"{place}: {named}, and this version of gile_lightning reads {known}; "
    if whole and found > newest:
        raise InputError(f"{problem}install a newer one, such as that which wrote it")
    if not whole or found < oldest:
        raise InputError(f"{problem}{remedy}")
