"""Vectors kept on disk: made once, found again, whole or not there."""

from pathlib import Path

import numpy as np
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained import VectorStore, backends, vectors
from gile_testing.minilm import DIM, NAME


def texts(*rows):
    counts = np.array([len(row) for row in rows], dtype=np.int64)
    return np.array([i for row in rows for i in row], dtype=np.int32), counts


class Encode:
    """Stands in for the transformer: a text's vector repeats the sum of its ids."""

    def __init__(self, fail_after=1_000):
        self.seen = []
        self.left = fail_after

    def __call__(self, name, subwords, counts, backend):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        parts = [part.tolist() for part in subwords.split(counts.tolist())]
        self.seen += parts
        return torch.tensor([[float(sum(part))] * DIM for part in parts])


@pytest.fixture
def encode(monkeypatch):
    monkeypatch.setattr(vectors, "CHUNK", 2)

    def use(**options):
        made = Encode(**options)
        monkeypatch.setattr(backends, "encode", made)
        return made

    return use


ROWS = [[1, 2, 3], [4], [5, 6], [], [4], [7, 8, 9, 10], [11, 12]]


def sums(found):
    assert found.shape[1] == DIM
    assert found.eq(found[:, :1]).all()
    return found[:, 0].tolist()


def test_every_text_is_encoded_once(encode, tmp_path):
    made = encode()
    store = VectorStore(NAME, tmp_path)
    store.fill([texts(*ROWS[:4]), texts(*ROWS[4:])], len(ROWS))
    assert made.seen == [[4], [5, 6], [11, 12], [1, 2, 3], [7, 8, 9, 10]] or made.seen == [
        [4], [11, 12], [5, 6], [1, 2, 3], [7, 8, 9, 10],
    ]  # fmt: skip
    assert len(store) == 5
    assert sums(store.find(*texts(*ROWS))) == [6, 4, 11, 0, 4, 34, 23]
    assert sums(store.find(*texts([], []))) == [0, 0]
    again = encode()
    store.fill([texts(*ROWS), texts([13])])
    assert again.seen == [[13]]
    assert sums(VectorStore(NAME, tmp_path).find(*texts([13], *ROWS[:2]))) == [13, 6, 4]
    assert not list(store.folder.glob(".*"))


def test_a_killed_run_goes_on(encode, tmp_path):
    killed = encode(fail_after=2)
    with pytest.raises(KeyboardInterrupt):
        VectorStore(NAME, tmp_path).fill([texts(*ROWS)], mark="corpus")
    assert len(killed.seen) == 4
    made = encode()
    store = VectorStore(NAME, tmp_path)
    assert len(store) == 4
    store.fill([texts(*ROWS)], mark="corpus")
    assert sorted(killed.seen + made.seen) == sorted(map(list, {tuple(r) for r in ROWS if r}))
    assert sums(store.find(*texts(*ROWS))) == [6, 4, 11, 0, 4, 34, 23]


def test_a_marked_corpus_is_not_looked_at_again(encode, tmp_path):
    encode()
    store = VectorStore(NAME, tmp_path)
    store.fill([texts([1])], mark="corpus")
    store.fill(iter(lambda: pytest.fail("read again"), None), mark="corpus")


def test_what_two_processes_have_made(encode, tmp_path):
    encode()
    first, second = (VectorStore(NAME, tmp_path) for _ in range(2))
    first.fill([texts([1], [2])])
    made = encode()
    second.fill([texts([1], [3])])
    assert made.seen == [[3]]
    assert sums(second.find(*texts([1], [2], [3]))) == [1, 2, 3]


def test_missing_vectors(encode, tmp_path):
    encode()
    store = VectorStore(NAME, tmp_path)
    with pytest.raises(InputError, match="vectors are missing"):
        store.find(*texts([1]))
    store.fill([texts([1], [2])])
    with pytest.raises(InputError, match="vectors are missing"):
        store.find(*texts([1], [3]))
    (file,) = store.folder.glob("*.npy")
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(InputError, match=rf"{file}: not readable .* delete it and all"):
        VectorStore(NAME, tmp_path)


def test_a_cache_that_cannot_be_written(encode, tmp_path):
    encode()
    (tmp_path / "vectors").write_text("a file where the folder would be")
    with pytest.raises(InputError, match=r"cannot be written .*XDG_CACHE_HOME"):
        VectorStore(NAME, tmp_path).fill([texts([1])])


def test_more_files_than_may_be_open(encode, tmp_path):
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    encode()
    rows = [[i] for i in range(1, 201)]
    open_now = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").is_dir() else 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 30, limits[1]))
    try:
        VectorStore(NAME, tmp_path).fill([texts(*rows)])
        found = VectorStore(NAME, tmp_path).find(*texts(*rows))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert sums(found) == list(range(1, 201))
