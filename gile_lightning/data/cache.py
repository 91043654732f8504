"""Where encoded corpora are kept, and what tells one source of a corpus from another."""

import os
import re
from pathlib import Path
from typing import Any

from gile_lightning.data.folder import is_url
from gile_lightning.errors import InputError


def stamp(path: Path) -> dict[str, Any]:
    """Return the name, size and time that identify a file's content."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    status = path.stat()
    return {"file": str(path.resolve()), "bytes": status.st_size, "time": status.st_mtime_ns}


def default_cache() -> Path:
    """Return ``$XDG_CACHE_HOME/gile_lightning``, by default ``~/.cache/gile_lightning``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "gile_lightning"


def local_cache(cache_dir: str | Path | None) -> Path:
    """Return the folder of a cache, for what cannot lie elsewhere: the default one for a URL."""
    if not cache_dir or is_url(cache_dir):
        return default_cache()
    if re.match(r"\w\w+:/", str(cache_dir)):  # what pathlib makes of a URL
        raise InputError(f"cache_dir is the path {cache_dir}: give a URL as a string, not a Path")
    return Path(cache_dir).expanduser()
