"""Folders on a remote file system: any that `fsspec` knows, such as ``s3://``."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
from fsspec.core import url_to_fs
from fsspec.registry import known_implementations

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.common.files import NO_ROOM
from gile_lightning.common.progress import Progress

MANIFEST = "manifest.json"


def is_url(path: Path | str | None) -> bool:
    """Whether a path is the URL of a file system, such as ``s3://bucket/folder``."""
    return "://" in str(path)


def check_protocol(url: str) -> None:
    """Import what the protocol of a URL needs.

    Raises:
        InputError: the protocol is unknown, or its package is not installed.
    """
    protocol = url.partition("://")[0]
    try:
        fsspec.get_filesystem_class(protocol)
    except ValueError as error:
        raise InputError(
            f"{url}: no file system is known as {protocol!r}"
            f"{nearest(protocol, known_implementations)}"
        ) from error
    except ImportError as error:
        package = known_implementations.get(protocol, {}).get("class", "").partition(".")[0]
        remedy = f" (pip install {package})" if package not in ("", "fsspec") else ""
        raise InputError(f"{url}: {error}{remedy}") from error


class RemoteFolder:
    """A remote folder with the files of a local one; it is copied whole in either direction.

    A manifest has the size in bytes and the SHA-256 of every file. It is written last: without it
    the upload has not ended.

    Attributes:
        url: of the folder, which need not exist yet.
        files: the file system.

    Raises:
        InputError: the file system is unknown, does not answer or denies access. The methods raise
            the same.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        check_protocol(url)
        with self._explained():
            self.files, path = url_to_fs(url)
        self._path: str = path

    def manifest(self) -> dict[str, dict[str, Any]] | None:
        """Return the size and checksum of every file; None if the folder is not complete."""
        with self._explained():
            try:
                content = self.files.cat_file(f"{self._path}/{MANIFEST}")
            except FileNotFoundError:
                return None
        try:
            found: dict[str, dict[str, Any]] = json.loads(content)
        except ValueError:  # it is being written
            return None
        except RecursionError as error:
            raise InputError(f"{self.url}/{MANIFEST}: nested too deep") from error
        _check(f"{self.url}/{MANIFEST}", found)
        return found

    def start(self) -> None:
        """Write an empty manifest: lack of write access shows before hours of work."""
        with self._explained():
            self.files.makedirs(self._path, exist_ok=True)
            self.files.pipe_file(f"{self._path}/{MANIFEST}", b"")

    def upload(self, folder: Path) -> None:
        """Copy all files of a local folder; the manifest comes last."""
        local = sorted(file for file in folder.iterdir() if file.is_file())
        manifest = {file.name: _checksum(file) for file in local}
        self.start()
        with self._explained(), _progress(f"copying to {self.url}", manifest) as shown:
            for file in local:
                self.files.put_file(str(file), f"{self._path}/{file.name}")
                shown.advance(manifest[file.name]["bytes"])
            self.files.pipe_file(f"{self._path}/{MANIFEST}", json.dumps(manifest).encode())

    def download(self, manifest: dict[str, dict[str, Any]], folder: Path) -> None:
        """Copy all files into a local folder, which appears once it is complete.

        An interrupted copy goes on: files that are right already are kept.

        Raises:
            InputError: a file is not what it was when it was uploaded; it is copied anew next time.
        """
        partial = folder.with_suffix(".copy")
        partial.mkdir(parents=True, exist_ok=True)
        for file in partial.iterdir():
            if file.name not in manifest:  # of another upload
                file.unlink()
        with _progress(f"copying {self.url}", manifest) as shown:
            for name, checksum in manifest.items():
                file = partial / name
                if not file.is_file() or _checksum(file) != checksum:
                    with self._explained():
                        self.files.get_file(f"{self._path}/{name}", str(file))
                    found = _checksum(file)
                    if found != checksum:
                        raise InputError(
                            f"{self.url}/{name}: damaged ({found['bytes']:,} bytes, which differ "
                            f"from the {checksum['bytes']:,} uploaded); start again to copy it "
                            "anew, or delete that folder to encode the corpus anew"
                        )
                shown.advance(checksum["bytes"])
        shutil.rmtree(folder, ignore_errors=True)
        partial.replace(folder)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # of many kinds: network, credentials, the name of a bucket
            if getattr(error, "errno", None) in NO_ROOM:
                raise  # which says enough
            raise InputError(
                f"{self.url}: {type(error).__name__}: {error}; is data.cache_dir right, and are "
                "there credentials for it?"
            ) from error


def _check(where: str, manifest: object) -> None:
    """Refuse a manifest that `upload` cannot have written, above all names of other folders."""
    if not isinstance(manifest, dict):
        raise InputError(f"{where}: not the list of files that was uploaded")
    for name, checksum in manifest.items():
        plain = name not in ("", "..") and Path(name).name == name and "\\" not in name
        plain = plain and name.isprintable() and len(name) <= 200
        size = checksum.get("bytes") if isinstance(checksum, dict) else None
        if not plain or type(size) is not int or size < 0:
            raise InputError(
                f"{where}: {name!r:.100} with {checksum!r:.100} is no file of a corpus"
            )


def _checksum(file: Path) -> dict[str, Any]:
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return {"bytes": file.stat().st_size, "sha256": digest}


def _progress(what: str, manifest: dict[str, dict[str, Any]]) -> Progress:
    total = sum(checksum["bytes"] for checksum in manifest.values())
    return Progress(what, total, "B")
