import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import Corpus
from gile_lightning.data.shards.cache import Cache, default_cache
from gile_lightning.data.shards.remote_folder import RemoteFolder


def content(data):
    """The encoded rows of every split."""
    return {split: data.split(split).to_list() for split in data.meta["counts"]["documents"]}


def stop(*_):
    raise AssertionError("the raw files were read")


def test_processes_that_prepare_at_once_encode_once(corpus, monkeypatch):
    def counted(self, skipped):
        calls.append(skipped)
        time.sleep(0.1)  # the others come to the lock
        return documents(self, skipped)

    documents, calls = Corpus.documents, []
    monkeypatch.setattr(Corpus, "documents", counted)
    modules = [corpus() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(Corpus.prepare_data, modules))
    assert len(calls) == 1


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_interrupted_encoding_leaves_no_usable_entry(corpus, prepared, monkeypatch, error):
    def interrupted(self, skipped):
        for number, document in enumerate(documents(self, skipped)):
            if number == 12:
                raise error
            yield document

    documents = Corpus.documents
    data = corpus()
    with monkeypatch.context() as patch:
        patch.setattr(Corpus, "documents", interrupted)
        patch.setattr("gile_lightning.data.shards.text_splitting.SHARD", 5)
        with pytest.raises(error):
            data.prepare_data()
    directory = data.directory_of_shards()
    assert not directory.exists()
    leftover = directory.with_suffix(".partial")
    assert not leftover.exists()
    leftover.mkdir()  # as a process leaves it that is killed
    (leftover / "train-99999.arrow").write_bytes(b"junk")
    again = prepared()
    assert again.directory_of_shards() == directory
    assert not leftover.exists()
    assert content(again) == content(prepared(cache_dir=directory.parent / "untouched"))


def test_default_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "gile_lightning"
    assert Corpus("x").cache_dir == tmp_path / "gile_lightning"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_cache() == tmp_path / "home/.cache/gile_lightning"
    assert Corpus("x", cache_dir="~/mine").cache_dir == tmp_path / "home/mine"


@pytest.fixture(params=["memory", "file"])
def remote(request, tmp_path, monkeypatch):
    """The URL of a cache elsewhere; local files are below the test's folder, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "local"))
    return f"{request.param}://{tmp_path}/remote"


def remote_folder(data):
    return data.cache.remote_folder(data.fingerprint())


def test_remote_cache_is_copied_here_once(corpus, prepared, remote, tmp_path, monkeypatch):
    """One node encodes; another, with an empty local cache, copies and reads nothing else."""
    first = prepared(cache_dir=remote)
    assert first.directory_of_shards().parent == tmp_path / "local/gile_lightning"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "node"))
    monkeypatch.setattr(Corpus, "documents", stop)
    calls = []

    def counted(self, *args):
        calls.append(args)
        time.sleep(0.1)  # the others come to the lock
        download(self, *args)

    download = RemoteFolder.download
    monkeypatch.setattr(RemoteFolder, "download", counted)
    modules = [corpus(cache_dir=remote) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(Corpus.prepare_data, modules))
    assert len(calls) == 1
    modules[0].setup()
    (directory,) = modules[0].shards()
    assert directory.parent == tmp_path / "node/gile_lightning"
    assert content(modules[0]) == content(first)
    assert modules[0].tasks == first.tasks
    assert modules[0].meta == first.meta
    assert [file.suffix for file in directory.parent.iterdir() if file.is_file()] == [".lock"]


def test_an_earlier_corpus_is_found_in_the_remote_cache(prepared, remote, tmp_path, monkeypatch):
    first = prepared(cache_dir=remote)
    key = first.fingerprint()
    assert first.cache.find(key) == first.directory_of_shards()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "node"))
    cache = Cache(remote)
    found = cache.find(key)
    assert found == tmp_path / "node/gile_lightning" / key
    same = [{f.name: f.read_bytes() for f in at.iterdir()} for at in (found, *first.shards())]
    assert same[0] == same[1]
    assert not cache.find("another").exists()


def test_interrupted_upload_is_done_anew(corpus, prepared, remote, monkeypatch, tmp_path):
    data = corpus(cache_dir=remote)
    with monkeypatch.context() as patch:
        patch.setattr(type(remote_folder(data).files), "put_file", stop)
        with pytest.raises(InputError, match="the raw files were read"):
            data.prepare_data()
    assert remote_folder(data).manifest() is None
    with monkeypatch.context() as patch:
        patch.setattr(Corpus, "documents", stop)  # what was encoded is kept
        prepared(cache_dir=remote)
    names = {file.name for file in data.directory_of_shards().iterdir()}
    assert remote_folder(data).manifest().keys() == names


def test_remote_cache_that_cannot_be_written_fails_before_encoding(corpus, remote, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError("read-only")

    data = corpus(cache_dir=remote)
    monkeypatch.setattr(type(remote_folder(data).files), "pipe_file", refuse)
    monkeypatch.setattr(Corpus, "documents", stop)
    with pytest.raises(InputError, match="PermissionError: read-only"):
        data.prepare_data()
