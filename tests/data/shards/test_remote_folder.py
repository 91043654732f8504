import hashlib
import json

import pytest
from fsspec.registry import known_implementations

from gile_lightning.common.errors import InputError
from gile_lightning.data.shards.remote_folder import MANIFEST, RemoteFolder, check_protocol

CONTENTS = {"a.arrow": b"0123456789", "b.npy": b"", "meta.json": b"{}"}


@pytest.fixture(params=["memory", "file"])
def folder(request, tmp_path):
    """A remote folder with some files, whole."""
    local = tmp_path / "local"
    local.mkdir()
    for name, content in CONTENTS.items():
        (local / name).write_bytes(content)
    folder = RemoteFolder(f"{request.param}://{tmp_path}/remote")
    assert folder.manifest() is None
    folder.upload(local)
    return folder


def write(folder, name, content):
    folder.files.pipe_file(f"{folder._path}/{name}", content)


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def copied(monkeypatch, folder, interrupted_at=None):
    """The names of the files that are copied from now on; one copy breaks off half-way."""

    def get_file(path, local):
        names.append(path.rpartition("/")[2])
        copy(path, local)
        if names[-1] == interrupted_at:
            with open(local, "r+b") as file:
                file.truncate(1)
            raise KeyboardInterrupt

    names, copy = [], type(folder.files).get_file.__get__(folder.files)
    monkeypatch.setattr(folder.files, "get_file", get_file)
    return names


def test_a_copy_is_whole(folder, tmp_path):
    folder.download(folder.manifest(), tmp_path / "copy")
    assert contents(tmp_path / "copy") == CONTENTS
    # printf 0123456789 | sha256sum
    digest = "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"
    assert folder.manifest()["a.arrow"] == {"bytes": 10, "sha256": digest}
    assert [file.name for file in tmp_path.iterdir() if "copy" in file.name] == ["copy"]


def test_interrupted_copy_goes_on(folder, tmp_path, monkeypatch):
    target = tmp_path / "copy"
    (tmp_path / "copy.copy").mkdir()
    (tmp_path / "copy.copy/of another upload").write_bytes(b"junk")
    with monkeypatch.context() as patch:
        copied(patch, folder, interrupted_at="meta.json")
        with pytest.raises(KeyboardInterrupt):
            folder.download(folder.manifest(), target)
    assert not target.exists()
    names = copied(monkeypatch, folder)
    folder.download(folder.manifest(), target)
    assert names == ["meta.json"]
    assert contents(target) == CONTENTS


def test_damaged_file_is_copied_anew(folder, tmp_path, monkeypatch):
    target = tmp_path / "copy"
    write(folder, "a.arrow", b"0123456780")
    with pytest.raises(InputError, match=r"remote/a.arrow: damaged.*start again"):
        folder.download(folder.manifest(), target)
    assert not target.exists()
    write(folder, "a.arrow", CONTENTS["a.arrow"])
    folder.download(folder.manifest(), target)
    assert contents(target) == CONTENTS


@pytest.mark.parametrize("manifest", [b"", b'{"a.arrow": {"by'])
def test_upload_that_has_not_ended_is_no_upload(folder, manifest):
    write(folder, MANIFEST, manifest)
    assert folder.manifest() is None


def test_unknown_protocol():
    message = "memry://b: no file system is known as 'memry'; did you mean 'memory'"
    with pytest.raises(InputError, match=message):
        check_protocol("memry://b")


def test_missing_package(monkeypatch):
    entry = {"class": "some_store.SomeStore", "err": "Install some_store to access it"}
    monkeypatch.setitem(known_implementations, "some", entry)
    with pytest.raises(
        InputError, match=r"some://b: Install some_store to access it \(pip install some_store\)"
    ):
        RemoteFolder("some://b")


def test_errors_name_the_folder(folder, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError("no credentials")

    for name in ("cat_file", "pipe_file"):
        monkeypatch.setattr(folder.files, name, refuse)
    for method in (folder.manifest, folder.start):
        with pytest.raises(
            InputError, match=r"://.*PermissionError: no credentials; is data.cache"
        ):
            method()


SIZE = {"bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}
NAMES = ["../x", "/tmp/x", "a/b", "..", ".", "", "a\\b", "a\nb", "x" * 300]


@pytest.mark.parametrize("listed", [*({name: SIZE} for name in NAMES), [1], 5, "a", {"a": {}}])
def test_a_manifest_writes_into_its_folder_alone(folder, listed, tmp_path):
    write(folder, MANIFEST, json.dumps(listed).encode())
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=MANIFEST):
        folder.download(folder.manifest(), tmp_path / "copy" / "here")
    assert sorted(tmp_path.rglob("*")) == before
