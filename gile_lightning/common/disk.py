"""Disk space, said before it is taken."""

import shutil
from pathlib import Path

from gile_lightning.common.console import complain, is_first, note

WORTH_SAYING = 100e6  # bytes


def tell_space(what: str, size: float, folder: Path, remedy: str) -> None:
    """Say how much disk something will take and how much is free, if it is much or too much.

    Args:
        what: takes it, such as "encoded documents".
        size: in bytes, about.
        folder: where; it must exist.
        remedy: what to do if that is too much.
    """
    free = shutil.disk_usage(folder).free
    text = f"{what} will take about {_gb(size)} of disk in {folder}, where {_gb(free)} are free"
    if size > free:
        complain(f"{text}: {remedy}")
    elif size >= WORTH_SAYING and is_first():
        note(text)


def _gb(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"
