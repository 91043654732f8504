import numpy as np
import pytest
from fsspec.registry import known_implementations

from gile_lightning.data.folder import Folder, check_protocol, is_url
from gile_lightning.errors import InputError


@pytest.mark.parametrize(
    ("path", "expected"),
    [("s3://bucket/a", True), ("memory://a", True), ("a/b", False), ("/a:b//c", False)],
)
def test_is_url(path, expected):
    assert is_url(path) is expected
    assert not is_url(None)


@pytest.mark.parametrize("url", ["memory://folder/{}", "file://{}/a/", "{}/b"])
def test_files_are_read_as_they_were_written(url, tmp_path):
    folder = Folder(url.format(tmp_path))
    assert folder.read("a") is None
    assert not folder.has("a")
    folder.write("a", b"0123456789")
    assert folder.has("a")
    assert folder.read("a") == b"0123456789"
    assert folder.read_ranges([("a", 2, 4), ("a", 0, 1), ("a", 9, 10)]) == [b"23", b"0", b"9"]
    assert folder.read_ranges([]) == []
    local = tmp_path / "vectors.npy"
    np.save(local, np.arange(4))
    folder.copy(local)
    with folder.open("vectors.npy") as file:
        assert np.load(file).tolist() == [0, 1, 2, 3]
    for _ in range(2):  # another process may have removed it
        folder.remove("a")
    assert folder.read("a") is None


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
        Folder("some://b")


def test_errors_name_the_folder(monkeypatch, tmp_path):
    folder = Folder(f"file://{tmp_path}")

    def refuse(*_, **__):
        raise PermissionError("no credentials")

    monkeypatch.setattr(folder.files, "cat_file", refuse)
    with pytest.raises(
        InputError, match=r"file://.*PermissionError: no credentials; is data.cache"
    ):
        folder.read("meta.json")
    with pytest.raises(InputError, match="FileNotFoundError"), folder.open("nothing"):
        pass
