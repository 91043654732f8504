"""The cache of encoded corpora."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from gile_lightning.common.errors import InputError
from gile_lightning.common.files import named
from gile_lightning.data.shards.remote_folder import RemoteFolder, check_protocol, is_url

META = "meta.json"  # written last: without it the shards are not complete


class Cache:
    """A local folder with a folder per encoded corpus; perhaps with a remote copy.

    Each node copies a corpus from the remote file system into its default local cache once, and a
    corpus that is missing there is encoded and copied there. Training and scoring read the local
    copy.

    Attributes:
        folder: the local folder.
        remote: the URL of the remote one; None if the cache is local.

    Args:
        location: a local folder, or a URL that fsspec knows; None for the default folder.

    Raises:
        InputError: the URL's file system is unknown, or its package is not installed.
    """

    def __init__(self, location: str | Path | None) -> None:
        self.folder = local_cache(location)
        self.remote = str(location) if is_url(location) else None
        if self.remote is not None:
            check_protocol(self.remote)

    def path(self, key: str) -> Path:
        """Return the local folder of a corpus, which need not exist."""
        return self.folder / key

    def has(self, key: str) -> bool:
        """Return whether the local cache has a corpus."""
        return (self.path(key) / META).is_file()

    def remote_folder(self, key: str) -> RemoteFolder | None:
        """Return the remote folder of a corpus, which need not exist, if the cache is remote."""
        if self.remote is None:
            return None
        end = "" if self.remote.endswith("/") else "/"
        return RemoteFolder(f"{self.remote}{end}{key}-shards")

    def find(self, key: str) -> Path:
        """Return the local folder of a corpus, copied from the remote cache where that has it.

        It need not exist.
        """
        directory, remote = self.path(key), self.remote_folder(key)
        if remote is not None and not self.has(key):
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(directory.with_suffix(".lock")):
                manifest = remote.manifest()
                if manifest is not None and not self.has(key):
                    remote.download(manifest, directory)
        return directory

    def fill(self, key: str, encode: Callable[[Path], None]) -> None:
        """Copy a corpus from the remote cache, or encode it, unless the local cache has it.

        Of several processes on a node one does this, while the others wait. A remote cache that
        lacks the corpus gets it.

        Args:
            key: of the corpus.
            encode: writes the corpus into an empty folder, and `META` last.
        """
        directory, remote = self.path(key), self.remote_folder(key)
        if remote is None and self.has(key):
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(directory.with_suffix(".lock")):
            manifest = None if remote is None else remote.manifest()
            if not self.has(key):  # else another process has just done it
                if remote is not None and manifest is not None:
                    remote.download(manifest, directory)
                else:
                    if remote is not None:
                        remote.start()
                    write_whole(directory, encode)
            if remote is not None and manifest is None and remote.manifest() is None:
                remote.upload(directory)


def write_whole(directory: Path, write: Callable[[Path], None]) -> None:
    """Write a folder that appears only once it is complete; an older one is replaced.

    Args:
        directory: the folder.
        write: writes the files into the empty folder that it is called with.
    """
    partial = directory.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with named(directory):
            partial.mkdir()
            write(partial)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)  # on a full disk it takes the last room
        raise
    shutil.rmtree(directory, ignore_errors=True)
    partial.replace(directory)


def write_once(directory: Path, write: Callable[[Path], None]) -> None:
    """Write a folder unless it exists; one of several processes does, while the others wait."""
    if directory.is_dir():
        return
    directory.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(directory.with_suffix(".lock")):
        if not directory.is_dir():
            write_whole(directory, write)


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
