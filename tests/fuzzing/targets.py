"""All that is fuzzed, and what may come of it."""

import contextlib
import io
from pathlib import Path

from fuzzing import models, stores, texts
from gile_lightning.common.errors import InputError

TARGETS = {**texts.TARGETS, **stores.TARGETS, **models.TARGETS}


def outcome(name: str, content: bytes, folder: Path) -> str:
    """Read a content by a target; return the error that names what is wrong, or an empty text.

    All other errors pass.
    """
    return read(name, TARGETS[name].write(folder, content))


def read(name: str, path: Path) -> str:
    """Do the same with a file."""
    target = TARGETS[name]
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(told):
        try:
            target.read(path)
        except InputError as error:
            return str(error) or "an error that tells nothing"
        except SystemExit as stop:  # of the parser of configurations
            if stop.code != 2 or "Traceback" in told.getvalue():
                raise AssertionError(f"status {stop.code}: {told.getvalue()}") from stop
            return told.getvalue()
    return ""
