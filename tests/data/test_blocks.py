"""Documents in remote blocks: the loader's guarantees, and what is fetched when."""

import json
import threading
from collections import Counter
from itertools import chain, islice
from typing import ClassVar

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from gile_lightning.data import blocks, shards
from gile_lightning.data.blocks import INCOMPLETE, META, Blocks, move_to
from gile_lightning.data.folder import Folder
from gile_lightning.data.loader import RaggedLoader
from gile_lightning.errors import InputError


class Watched(MemoryFileSystem):
    """Files in memory; remembers which ranges were read, and by which thread."""

    protocol = "watched"
    store: ClassVar = {}
    pseudo_dirs: ClassVar = [""]
    ranges: ClassVar = []
    broken = False

    def cat_ranges(self, paths, starts, ends, **options):
        if Watched.broken:
            raise OSError("connection lost")
        Watched.ranges.append((len(paths), threading.current_thread().name))
        return super().cat_ranges(paths, starts, ends, **options)


fsspec.register_implementation("watched", Watched, clobber=True)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks of 4 documents, windows of 3 blocks."""
    monkeypatch.setattr(blocks, "BLOCK", 4)
    monkeypatch.setattr(blocks, "WINDOW", 3)
    monkeypatch.setattr(Watched, "ranges", [])
    monkeypatch.setattr(Watched, "broken", False)


FILLER = 1_000  # no document has this number


def rows(start, stop):
    """Document i has i as its first word; i % 3 + 1 words, i % 2 + 1 sentences, i % 4 labels."""
    lists = pa.list_(pa.int32())
    numbers = range(start, stop)
    return pa.table(
        {
            "id": [str(i) for i in numbers],
            "words": pa.array([[i] + [FILLER] * (i % 3) for i in numbers], lists),
            "sentence_lengths": pa.array([[i % 3 + 1, 0][: i % 2 + 1] for i in numbers], lists),
            "labels": pa.array([list(range(i % 4)) for i in numbers], lists),
        }
    )


@pytest.fixture(params=["memory", "file", "watched"])
def protocol(request):
    return request.param


@pytest.fixture
def folder(tmp_path, protocol):
    """A remote folder by the protocol of the test."""
    return Folder(f"{protocol}://{tmp_path}/remote")


@pytest.fixture
def store(tmp_path, folder, monkeypatch):
    """Moves shards of these sizes to the folder; returns the documents."""

    def store(*sizes):
        local = tmp_path / "local"
        local.mkdir()
        start = 0
        for number, size in enumerate(sizes):
            table = rows(start, start + size)
            shards.write_table(local / f"train-{number:05}.arrow", table)
            start += size
        (local / "language.json").write_text("{}")
        move_to(folder, local, {"counts": {"train": start}})
        assert not local.exists()
        meta = json.loads(folder.read(META))
        monkeypatch.setattr(blocks, "BLOCK", 5)  # a later version reads what an older one wrote
        assert meta["counts"] == {"train": start}
        assert folder.read(INCOMPLETE) is None
        assert folder.read("language.json") == b"{}"
        return Blocks(folder, **meta["blocks"]["train"])

    return store


def numbers(batch):
    """The documents of a batch, after checking all of their parts."""
    documents = batch["english"]
    found = [i for i in documents.words.tolist() if i != FILLER]
    assert documents.words.tolist() == [w for i in found for w in [i] + [FILLER] * (i % 3)]
    lengths = [n for i in found for n in [i % 3 + 1, 0][: i % 2 + 1]]
    assert documents.sentence_lengths.tolist() == lengths
    assert documents.document_lengths.tolist() == [i % 2 + 1 for i in found]
    assert documents.label_ids.tolist() == [n for i in found for n in range(i % 4)]
    assert documents.label_counts.tolist() == [i % 4 for i in found]
    return found


def loader(documents, batch_size=3, **options):
    return RaggedLoader(documents, "english", batch_size, **({"shuffle": True} | options))


def epochs(loader, number):
    return [[numbers(batch) for batch in loader] for _ in range(number)]


def joined(lists):
    return list(chain.from_iterable(lists))


# ---------------------------------------------------------------- the files


def test_blocks_do_not_depend_on_the_shards(store, folder):
    documents = store(3, 9, 1, 1, 12)  # of 26
    ranges = [stop - start for _, start, stop in documents.places]
    assert len(ranges) == 7
    for number, content in enumerate(folder.read_ranges(documents.places)):
        batch = pa.ipc.read_record_batch(pa.py_buffer(content), blocks._schema(subwords=False))
        expected = rows(4 * number, min(4 * number + 4, 26)).drop_columns("id")
        assert pa.Table.from_batches([batch]).equals(expected)


def test_files_are_arrow_streams(store, folder):
    store(9, 4)
    tables = [
        pa.ipc.open_stream(folder.read(f"train-0000{number}.arrow")).read_all() for number in (0, 1)
    ]
    assert [len(table) for table in tables] == [8, 5]
    assert pa.concat_tables(tables).equals(rows(0, 13).drop_columns("id"))


def test_a_file_that_was_cut(store, folder):
    documents = store(9, 4)
    name, start, stop = documents.places[1]
    folder.write(name, folder.read(name)[: stop - 8])
    with pytest.raises(InputError, match=f"{name}: broken at byte {start:,}.*prepare"):
        list(documents.batches([np.arange(13)]))


# ---------------------------------------------------------------- the loader's guarantees


@pytest.mark.parametrize("sizes", [(1,), (3,), (4,), (7, 6), (12,), (13,), (40, 10, 3)], ids=str)
@pytest.mark.parametrize("shuffle", [True, False])
def test_every_document_once_in_equal_steps(store, sizes, shuffle):
    documents, total = store(*sizes), sum(sizes)
    for world_size in (1, 2):
        if shuffle and total < world_size:
            continue
        ranks = [
            loader(documents, shuffle=shuffle, rank=rank, world_size=world_size)
            for rank in range(world_size)
        ]
        for _ in range(2):
            batches = [epochs(rank, 1)[0] for rank in ranks]
            assert {len(own) for own in batches} == {len(ranks[0])}
            assert sorted(joined(joined(batches))) == list(range(total))


def test_two_processes_make_the_batches_of_one_with_twice_the_size(store):
    documents = store(40, 13)
    one = epochs(loader(documents, 6), 2)
    a, b = (epochs(loader(documents, 3, rank=rank, world_size=2), 2) for rank in (0, 1))
    for epoch in range(2):
        assert [x + y for x, y in zip(a[epoch], b[epoch], strict=True)] == one[epoch]


def test_in_order_unless_shuffled(store):
    assert joined(epochs(loader(store(11, 3), shuffle=False), 1)[0]) == list(range(14))


def test_rows_are_places_in_the_split(store):
    for batch in loader(store(11, 3)):
        assert batch["english"].rows.tolist() == numbers(batch)


def test_order_is_of_windows_and_random_within(store):
    first, second = (joined(epoch) for epoch in epochs(loader(store(48)), 2))
    assert first != second
    for order in (first, second):
        windows = [order[start : start + 12] for start in range(0, 48, 12)]
        for window in windows:
            counts = Counter(document // 4 for document in window)
            assert set(counts.values()) == {4}  # three whole blocks
            assert window != sorted(window)
        assert sorted(joined(windows)) == list(range(48))
        assert {document // 4 for document in windows[0]} != {0, 1, 2}


def test_order_depends_on_seed_and_epoch_alone(store):
    documents = store(48)
    unbroken = epochs(loader(documents, seed=5), 3)
    other = loader(documents, seed=5)
    other.set_epoch(2)
    assert epochs(other, 1)[0] == unbroken[2]
    assert epochs(loader(documents, seed=6), 1)[0] not in unbroken


@pytest.mark.parametrize("done", [1, 4, 8, 9, 10, 17, 23])
@pytest.mark.parametrize("length", [{}, {"samples": 25}, {"repeat": 25}], ids=str)
@pytest.mark.parametrize("world_size", [1, 2])
def test_restored_loader_goes_on_exactly(store, done, length, world_size):
    documents = store(17, 8) if not length else store(7, 2)
    for rank in range(world_size):
        unbroken, broken, fresh = (
            loader(documents, rank=rank, world_size=world_size, **length) for _ in range(3)
        )
        steps = len(unbroken)
        expected = joined(epochs(unbroken, 6))
        batches = (batch for _ in range(6) for batch in broken)
        before = [numbers(batch) for batch in islice(batches, done)]
        # what was fetched ahead is not part of the position
        place = done % steps * unbroken.documents // steps
        assert broken.state_dict() == {"epoch": done // steps, "cut": 0, "documents": place}
        fresh.load_state_dict(broken.state_dict())
        after = [numbers(batch) for _ in range(6 - done // steps) for batch in fresh]
        assert before + after == expected


@pytest.mark.parametrize("samples", [5, 100])
def test_samples(store, samples):
    read = epochs(loader(store(30), samples=samples), 2)
    assert {len(joined(epoch)) for epoch in read} == {samples}
    assert set(joined(joined(read))) <= set(range(30))
    assert read[0] != read[1]


def test_samples_are_even(store):
    counts = Counter(loader(store(5), samples=10_000).order().tolist())
    # 2,000 draws of each are expected; the standard deviation is sqrt(10,000 * 0.2 * 0.8) = 40
    assert [abs(counts[i] - 2_000) < 160 for i in range(5)] == [True] * 5


def test_repeat_is_pass_after_pass(store):
    order = joined(epochs(loader(store(9), repeat=25), 1)[0])
    passes = [order[:9], order[9:18], order[18:]]
    assert [sorted(own) for own in passes[:2]] == [list(range(9))] * 2
    assert len(set(passes[2])) == 7
    assert passes[0] != passes[1]


def test_some_of_the_documents(store):
    some = store(30).select(np.array([25, 3, 4, 29, 11]))
    assert len(some) == 5
    assert joined(epochs(loader(some, 2, shuffle=False), 1)[0]) == [3, 4, 11, 25, 29]
    fewer = some.select(np.array([4, 1]))
    assert sorted(joined(epochs(loader(fewer, 2), 1)[0])) == [4, 29]


# ---------------------------------------------------------------- what is fetched


@pytest.mark.parametrize("protocol", ["watched"], indirect=True)
def test_every_block_is_fetched_once_by_a_thread_a_window_ahead(store):
    batches = iter(loader(store(48), 4))  # 12 blocks, 4 windows of 3 batches
    fetched = []
    for _ in range(12):
        next(batches)
        fetched.append(sum(number for number, _ in Watched.ranges))
    assert next(batches, None) is None
    window = [3, 3, 3, 6, 6, 6, 9, 9, 9, 12, 12, 12]
    ahead = [6, 6, 6, 9, 9, 9, 12, 12, 12, 12, 12, 12]  # the thread may be on its way there
    assert all(low <= n <= high for low, n, high in zip(window, fetched, ahead, strict=True))
    assert [number for number, _ in Watched.ranges] == [3, 3, 3, 3]
    assert {thread.partition("_")[0] for _, thread in Watched.ranges} == {"blocks"}


@pytest.mark.parametrize("protocol", ["watched"], indirect=True)
@pytest.mark.parametrize("batch_size", [1, 3, 5, 7])
def test_every_block_is_fetched_once_where_batches_straddle_windows(store, batch_size):
    numbers = epochs(loader(store(50), batch_size), 1)[0]
    assert sorted(joined(numbers)) == list(range(50))
    assert sum(number for number, _ in Watched.ranges) == 13
    assert max(number for number, _ in Watched.ranges) <= 3


@pytest.mark.parametrize("protocol", ["watched"], indirect=True)
def test_restored_loader_fetches_what_is_left(store):
    part = loader(store(48), 4)
    part.load_state_dict({"epoch": 0, "cut": 0, "documents": 36})
    list(part)
    assert sum(number for number, _ in Watched.ranges) == 3


@pytest.mark.parametrize("protocol", ["watched"], indirect=True)
def test_lost_connection_is_an_error(store):
    batches = iter(loader(store(48), 4))
    next(batches)
    next(batches)
    Watched.broken = True
    with pytest.raises(InputError, match=r"watched://.*remote: OSError: connection lost"):
        list(batches)


def test_abandoned_epoch_leaves_no_thread(store):
    batches = iter(loader(store(48), 4))
    next(batches)
    batches.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("blocks")]
