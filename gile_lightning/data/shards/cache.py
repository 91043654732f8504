"""Where encoded corpora are kept, and what tells one source of a corpus from another."""

import hashlib
import inspect
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from gile_lightning.common.errors import InputError
from gile_lightning.data.shards.remote import is_url


def stamp(path: Path) -> dict[str, Any]:
    """Return the name, size and time that identify a file's content."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    status = path.stat()
    return {"file": str(path.resolve()), "bytes": status.st_size, "time": status.st_mtime_ns}


@cache  # of a process: an edit after that is not what it runs
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
    package = kind.__module__.partition(".")[0]
    if package in {"gile_lightning", "torch", "lightning"} | sys.stdlib_module_names:
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


def default_cache() -> Path:
    """Return ``$XDG_CACHE_HOME/gile_lightning``, by default ``~/.cache/gile_lightning``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "gile_lightning"


def local_cache(cache_dir: str | Path | None) -> Path:
    """Return the folder of a cache; for a URL the default one, into which corpora are copied."""
    if not cache_dir or is_url(cache_dir):
        return default_cache()
    if re.match(r"\w\w+:/", str(cache_dir)):  # what pathlib makes of a URL
        raise InputError(f"cache_dir is the path {cache_dir}: give a URL as a string, not a Path")
    return Path(cache_dir).expanduser()
