"""What tells one encoded corpus from another: its files, its settings and its reader's code."""

import hashlib
import inspect
import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gile_lightning.common.errors import InputError

_PACKAGE = __name__.partition(".")[0]


def hash_of(state: Mapping[str, Any]) -> str:
    """Return a hash of plain values."""
    text = json.dumps(state, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def stamp(path: Path) -> dict[str, Any]:
    """Return the name, size and time that identify a file's content."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    status = path.stat()
    return {"file": str(path.resolve()), "bytes": status.st_size, "time": status.st_mtime_ns}


def foreign_arguments(kind: type, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that only classes outside the package have: texts may depend on them.

    Args:
        kind: a class.
        arguments: those of its call, by name.
    """
    ours = {
        name
        for base in kind.__mro__
        if _package(base) == _PACKAGE
        for name in inspect.signature(base.__init__).parameters  # type: ignore[misc]
    }
    return {key: value for key, value in arguments.items() if key not in ours}


@cache  # per process, which does not run later edits either
def code_of(kind: type) -> list[list[str]]:
    """Return the qualified names of a class and its bases, each with what identifies its code.

    Code of this package, torch, lightning and Python is identified by the name alone. Other classes
    are identified by their source, or by their file where there is no source, and by a ``version``
    if they declare one. The code that they call elsewhere is not looked at: raise ``version`` when
    that changes.

    Raises:
        InputError: a class has no source, no file and no version.
    """
    return [[f"{base.__module__}.{base.__qualname__}", *_code(base)] for base in kind.__mro__]


def _code(kind: type) -> list[str]:
    if _package(kind) in {_PACKAGE, "torch", "lightning"} | sys.stdlib_module_names:
        return []
    version = vars(kind).get("version")
    declared = [] if version is None else [f"version {version}"]
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    try:
        source = inspect.getsource(kind).encode()
    except (OSError, TypeError):
        if file is not None:
            source = Path(file).read_bytes()
        elif declared:
            return declared
        else:
            raise InputError(
                f"{kind.__module__}.{kind.__qualname__}: its source, which is part of the cache's "
                "key, cannot be read; move the class into a file, or declare `version = 1` in it "
                "and raise that with each change"
            ) from None
    return [*declared, hashlib.sha256(source).hexdigest()]


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]
