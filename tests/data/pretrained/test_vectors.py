"""Vectors kept on disk: made once, found again, whole or not there."""

import zlib

import numpy as np
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained import VectorStore, backends, keyed_vectors, passages, vectors
from gile_lightning.data.pretrained.passages import passage_counts
from gile_lightning.data.pretrained.transformer import Encoded
from gile_testing.minilm import DIM, NAME


def texts(*rows):
    counts = np.array([len(row) for row in rows], dtype=np.int64)
    return np.array([i for row in rows for i in row], dtype=np.int32), counts


class Encode:
    """Stands in for the transformer: a text's vector repeats the sum of its ids.

    That of a passage is 100 times as much, and its number.
    """

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

    def with_passages(self, name, subwords, counts, backend):
        vectors = self(name, subwords, counts, backend)
        numbers = passage_counts(subwords, counts).tolist()
        pairs = zip(vectors, numbers, strict=True)
        rows = [100 * vector + i for vector, number in pairs for i in range(number)]
        return Encoded(vectors, torch.stack(rows), torch.tensor(numbers))


@pytest.fixture
def encode(monkeypatch):
    monkeypatch.setattr(vectors, "CHUNK", 2)

    def use(**options):
        made = Encode(**options)
        monkeypatch.setattr(backends, "encode", made)
        monkeypatch.setattr(backends, "encode_with_passages", made.with_passages)
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
    assert len(store.texts) == 5
    assert sums(store.find(*texts(*ROWS))) == [6, 4, 11, 0, 4, 34, 23]
    assert sums(store.find(*texts([], []))) == [0, 0]
    again = encode()
    store.fill([texts(*ROWS), texts([13])])
    assert again.seen == [[13]]
    assert sums(VectorStore(NAME, tmp_path).find(*texts([13], *ROWS[:2]))) == [13, 6, 4]
    assert not list(store.texts.folder.glob(".*"))


def test_disk_space_is_said_for_texts_without_vectors(encode, tmp_path, monkeypatch):
    encode()
    monkeypatch.setattr(vectors, "GROUP", 2)
    said = []
    monkeypatch.setattr(vectors, "tell_space", lambda what, size, *rest: said.append((what, size)))
    store, width = VectorStore(NAME, tmp_path), DIM * 4 + 16 + 4
    store.fill([texts(*ROWS[:2])], 2)
    # the first group is known; of the second one the empty text needs no vector
    store.fill([texts(*ROWS[:2]), texts(*ROWS[2:4]), texts(*ROWS[4:])], len(ROWS))
    store.fill([texts(*ROWS)], len(ROWS))
    assert said == [
        ("vectors of up to 2 new texts", 2 * width),
        ("vectors of up to 4 new texts", 4 * width),
    ]


@pytest.mark.parametrize(
    ("backend", "speedup", "said"),
    [("torch", 2.04, True), ("torch", 0.6, False), ("torch-bfloat16", 2.04, False)],
)
def test_a_faster_backend_is_named(encode, tmp_path, monkeypatch, capsys, backend, speedup, said):
    encode()
    monkeypatch.setattr(vectors, "MANY", 5)
    monkeypatch.setattr(vectors, "bfloat16_speedup", lambda: speedup)
    store = VectorStore(NAME, tmp_path, backend)
    store.fill([texts(*ROWS[:2])], 2)  # too few
    assert "bfloat16" not in capsys.readouterr().err
    store.fill([texts(*ROWS), texts([13], [14])], len(ROWS) + 2)
    told = capsys.readouterr().err
    assert ("bfloat16 2.0 times as fast as float32: pretrained_backend" in told) is said


def test_a_killed_run_goes_on(encode, tmp_path):
    killed = encode(fail_after=2)
    with pytest.raises(KeyboardInterrupt):
        VectorStore(NAME, tmp_path).fill([texts(*ROWS)], mark="corpus")
    assert len(killed.seen) == 4
    made = encode()
    store = VectorStore(NAME, tmp_path)
    assert len(store.texts) == 4
    store.fill([texts(*ROWS)], mark="corpus")
    assert sorted(killed.seen + made.seen) == sorted(map(list, {tuple(r) for r in ROWS if r}))
    assert sums(store.find(*texts(*ROWS))) == [6, 4, 11, 0, 4, 34, 23]


def test_a_marked_corpus_is_not_looked_at_again(encode, tmp_path):
    encode()
    store = VectorStore(NAME, tmp_path)
    rows = store.fill([texts(*ROWS[:4]), texts(*ROWS[4:])], mark="corpus")
    assert rows[1] == rows[4]
    assert rows[3] == -1
    assert sorted(rows.tolist()) == [-1, 0, 0, 1, 2, 3, 4]
    again = VectorStore(NAME, tmp_path)
    found = again.fill(iter(lambda: pytest.fail("read again"), None), mark="corpus")
    assert found.tolist() == rows.tolist()
    assert sums(again.texts.take(found)) == [6, 4, 11, 0, 4, 34, 23]
    assert sums(again.texts.take(found[[5, 3, 5]])) == [34, 0, 34]


@pytest.mark.parametrize("cut", [3, 16, 48])
def test_a_mark_that_was_cut_off_is_written_anew(encode, tmp_path, cut):
    encode()
    rows = VectorStore(NAME, tmp_path).fill([texts(*ROWS)], mark="corpus")
    (mark,) = tmp_path.rglob("corpus.texts")
    whole = mark.read_bytes()
    mark.write_bytes(whole[:-cut])
    found = VectorStore(NAME, tmp_path).fill([texts(*ROWS)], mark="corpus")
    assert found.tolist() == rows.tolist()
    assert mark.read_bytes() == whole


# of those of `ROWS`, with passages of two subwords at most, and -1 behind those of a text
PASSAGES = [600, 601, 0, 400, 0, 1100, 0, 0, 400, 0, 3400, 3401, 0, 2300, 0]


@pytest.fixture
def short_passages(monkeypatch):
    monkeypatch.setattr(passages, "PASSAGE", 2)


@pytest.mark.usefixtures("short_passages")
def test_passages_are_kept_beside_texts(encode, tmp_path):
    made = encode()
    store = VectorStore(NAME, tmp_path)
    found = store.fill_with_passages([texts(*ROWS[:4]), texts(*ROWS[4:])], mark="corpus")
    assert len(made.seen) == 5  # each text once
    assert sums(store.texts.take(found[0])) == [6, 4, 11, 0, 4, 34, 23]
    assert sums(store.passages.take(found[1])) == PASSAGES
    assert (found[1] < 0).tolist() == [value == 0 for value in PASSAGES]
    assert [len(store.texts), len(store.passages)] == [5, 7]
    again = VectorStore(NAME, tmp_path)
    unread = iter(lambda: pytest.fail("read again"), None)
    for rows, expected in zip(again.fill_with_passages(unread, mark="corpus"), found, strict=True):
        assert rows.tolist() == expected.tolist()
    assert again.fill(unread, mark="corpus").tolist() == found[0].tolist()


@pytest.mark.usefixtures("short_passages")
def test_passages_of_texts_that_had_none(encode, tmp_path):
    """The texts keep their vectors, and all are encoded once more."""
    encode()
    store = VectorStore(NAME, tmp_path)
    before = store.fill([texts(*ROWS)], mark="corpus")
    made = encode()
    rows, of_passages = store.fill_with_passages([texts(*ROWS, [13])], mark="corpus")
    assert len(made.seen) == 6
    assert rows[:-1].tolist() == before.tolist()
    assert sums(store.texts.take(rows)) == [6, 4, 11, 0, 4, 34, 23, 13]
    assert sums(store.passages.take(of_passages)) == [*PASSAGES, 1300, 0]
    assert [len(store.texts), len(store.passages)] == [6, 8]


@pytest.mark.usefixtures("short_passages")
def test_a_kill_among_passages(encode, tmp_path):
    """Hashes are cut within those of a text's passages: the text is encoded once more."""
    encode()
    store = VectorStore(NAME, tmp_path)
    store.fill_with_passages([texts([7, 8, 9, 10], [5, 6])])  # one chunk of two texts
    file = store.passages.folder / keyed_vectors.KEYS
    keys = file.read_bytes()
    assert len(keys) == 3 * 16
    file.write_bytes(keys[: 2 * 16])  # without the second passage of the longer text
    made = encode()
    store = VectorStore(NAME, tmp_path)
    rows, of_passages = store.fill_with_passages([texts([7, 8, 9, 10], [5, 6])])
    assert made.seen == [[7, 8, 9, 10]]
    assert sums(store.texts.take(rows)) == [34, 11]
    assert sums(store.passages.take(of_passages)) == [3400, 3401, 0, 1100, 0]


@pytest.mark.usefixtures("short_passages")
def test_texts_of_many_passages_come_in_smaller_chunks(encode, tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "MOST_PASSAGES", 3)
    made = encode()
    store = VectorStore(NAME, tmp_path)
    _, of_passages = store.fill_with_passages([texts([1], [2, 3], [1] * 9, [4, 5, 6])])
    assert made.seen == [[1], [2, 3], [4, 5, 6], [1] * 9]
    assert made.left == 1_000 - 3  # one passage and one; two; five
    assert len(of_passages) == 4 + 9


def test_disk_space_of_passages(encode, tmp_path, monkeypatch, short_passages):
    encode()
    said = []
    monkeypatch.setattr(vectors, "tell_space", lambda what, size, *rest: said.append((what, size)))
    VectorStore(NAME, tmp_path).fill_with_passages([texts(*ROWS)], len(ROWS))
    assert said == [("vectors of up to 5 new texts", (5 + 7) * (DIM * 4 + 16 + 4))]


def test_a_corpus_whose_vectors_were_deleted_is_encoded_anew(encode, tmp_path):
    encode()
    VectorStore(NAME, tmp_path).fill([texts(*ROWS)], mark="corpus")
    store = VectorStore(NAME, tmp_path)
    for file in (keyed_vectors.KEYS, keyed_vectors.VECTORS["float32"]):
        (store.texts.folder / file).unlink()
    store = VectorStore(NAME, tmp_path)
    store.fill([texts([50], [4])])
    rows = store.fill([texts(*ROWS)], mark="corpus")
    assert sums(store.texts.take(rows)) == [6, 4, 11, 0, 4, 34, 23]


@pytest.mark.parametrize(("rows", "more"), [(0, 7), (1, 0), (1, 10)])
def test_what_a_kill_left_half_written(encode, tmp_path, rows, more):
    """Vectors are written before their hashes: either may be cut anywhere."""
    encode()
    store = VectorStore(NAME, tmp_path)
    store.fill([texts([1], [2])])
    before = [
        (store.texts.folder / file).read_bytes()
        for file in (keyed_vectors.VECTORS["float32"], keyed_vectors.KEYS)
    ]
    with open(store.texts.folder / keyed_vectors.VECTORS["float32"], "ab") as file:
        file.write(b"\1" * (DIM * 4 * rows + more))
    with open(store.texts.folder / keyed_vectors.KEYS, "ab") as file:
        file.write(b"\1" * (more if rows else 0))
    store = VectorStore(NAME, tmp_path)
    assert len(store.texts) == 2
    store.fill([texts([1], [2], [3])])
    after = [
        (store.texts.folder / file).read_bytes()
        for file in (keyed_vectors.VECTORS["float32"], keyed_vectors.KEYS)
    ]
    assert [len(content) for content in after] == [3 * DIM * 4, 3 * 16]
    assert all(new.startswith(old) for new, old in zip(after, before, strict=True))
    assert sums(VectorStore(NAME, tmp_path).find(*texts([3], [1], [2]))) == [3, 1, 2]


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
    file = store.texts.folder / keyed_vectors.VECTORS["float32"]
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(
        InputError, match=rf"{file}: missing, or shorter than texts.keys says; delete the fold"
    ):
        VectorStore(NAME, tmp_path)


def test_a_damaged_vector_is_refused(encode, tmp_path):
    encode()
    store = VectorStore(NAME, tmp_path)
    rows = store.fill([texts([1], [2], [3])])
    file = store.texts.folder / keyed_vectors.VECTORS["float32"]
    content = bytearray(file.read_bytes())
    place = int(rows[1]) * DIM * 4 + 9
    content[place] ^= 1
    file.write_bytes(content)
    store = VectorStore(NAME, tmp_path)
    assert sums(store.texts.take(rows[[0, 2]])) == [1, 3]
    with pytest.raises(
        InputError, match=rf"{file}: damaged, .* delete the folder {store.texts.folder},"
    ):
        store.texts.take(rows)


def test_each_vector_has_a_checksum(encode, tmp_path):
    encode()
    store = VectorStore(NAME, tmp_path)
    rows = store.fill([texts([1], [2])])
    file = store.texts.folder / keyed_vectors.SUMS
    second = np.full(DIM, 2, np.float32)
    assert np.fromfile(file, np.uint32)[rows[1]] == zlib.crc32(second.tobytes())
    file.write_bytes(file.read_bytes()[:5])
    with pytest.raises(
        InputError, match=rf"{file}: missing, or shorter than texts.keys says; delete the fold"
    ):
        VectorStore(NAME, tmp_path)


def test_vectors_without_a_number_are_read_and_those_of_a_newer_version_refused(encode, tmp_path):
    encode()
    store = VectorStore(NAME, tmp_path)
    rows = store.fill([texts([1], [2])])
    file = store.texts.folder / keyed_vectors.FORMAT_FILE
    assert file.read_text() == "1"
    file.unlink()
    store = VectorStore(NAME, tmp_path)
    assert sums(store.texts.take(rows)) == [1, 2]
    store.fill([texts([3])])
    assert file.read_text() == "1"
    for number, remedy in (
        ("2", "install a newer one"),
        ("", f"delete the folder {store.texts.folder}"),
    ):
        file.write_text(number)
        with pytest.raises(InputError, match=rf"{file}: of .*{remedy}"):
            VectorStore(NAME, tmp_path)


def test_a_cache_that_cannot_be_written(encode, tmp_path):
    encode()
    (tmp_path / "vectors").write_text("a file where the folder would be")
    with pytest.raises(InputError, match=r"cannot be written .*XDG_CACHE_HOME"):
        VectorStore(NAME, tmp_path).fill([texts([1])])


def test_vectors_of_16_bits(encode, tmp_path):
    """They take half the disk, are rounded to 11 bits, and lie beside those of 32."""
    made = encode()
    exact, half = (VectorStore(NAME, tmp_path, dtype=dtype) for dtype in ("float32", "float16"))
    rows = [[2049], [2050, 1]]
    for store in (exact, half):
        store.fill([texts(*rows)])
    assert made.seen == rows * 2
    assert sums(exact.find(*texts(*rows))) == [2049, 2051]
    again = VectorStore(NAME, tmp_path, dtype="float16").find(*texts(*rows))
    assert again.dtype == torch.float32
    assert sums(again) == [2048, 2052]
    assert [store.texts.vectors.stat().st_size for store in (exact, half)] == [8 * DIM, 4 * DIM]
    with open(half.texts.vectors, "r+b") as file:
        file.write(b"x")
    with pytest.raises(InputError, match=r"vectors\.f16: damaged"):
        VectorStore(NAME, tmp_path, dtype="float16").find(*texts(*rows))
