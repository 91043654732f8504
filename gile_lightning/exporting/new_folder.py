"""The folder that an export writes: empty before, and of one command alone."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gile_lightning.common.errors import InputError

UNFINISHED = ".unfinished"
"""A file in the folder while an export writes it, locked by that command."""


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Hold an empty folder for an export, which is made if need be.

    A folder whose export was cut off is written anew: it has `UNFINISHED`, which no process has
    locked.

    Args:
        folder: the folder.

    Raises:
        InputError: it is a file, holds files already, or another export writes it.
    """
    folder = folder.expanduser()
    made, mark = not folder.exists(), folder / UNFINISHED
    with _hold(folder):
        for path in list(folder.rglob("*")):
            if path.is_file() and path != mark:
                path.unlink()
        try:
            yield folder
        except BaseException:
            if list(folder.iterdir()) == [mark]:  # nothing was written
                mark.unlink()
                if made:
                    folder.rmdir()
            raise
        mark.unlink()


def _hold(folder: Path) -> IO[str]:
    """Make and lock `UNFINISHED`."""
    full = InputError(f"{folder}: holds files already; choose another --output")
    busy = InputError(f"{folder}: another export writes it; wait, or choose another --output")
    if folder.exists() and not folder.is_dir():
        raise full
    folder.mkdir(parents=True, exist_ok=True)
    names = [path.name for path in folder.iterdir()]
    if names and UNFINISHED not in names:
        raise full
    try:  # the other one may begin or end just now
        file = (folder / UNFINISHED).open("r+" if names else "x")
    except FileExistsError:
        raise busy from None
    except FileNotFoundError:
        raise full from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise busy from None
    if not (folder / UNFINISHED).exists():
        file.close()
        raise full
    return file
