from functools import partial
from types import SimpleNamespace

import pyarrow as pa
import pytest
import torch
from torch.nn.functional import embedding_bag

from gile_lightning.data.loading import ragged
from gile_lightning.data.loading.ragged import (
    RaggedBatch,
    batch_from_arrow,
    count_ids,
    distinct,
    gather_segments,
    gather_texts,
    join,
    segment_starts,
    send,
    sum_by_id,
)

LENGTHS = torch.tensor([2, 0, 3, 1])
VALUES = torch.tensor([10, 11, 20, 21, 22, 30])
SEGMENTS = [[10, 11], [], [20, 21, 22], [30]]


def table():
    lists = pa.list_(pa.int32())
    return pa.table(
        {
            "id": ["a", "b", "c"],
            "words": pa.array([[5, 6, 7], [8], [9, 10]], lists),
            "sentence_lengths": pa.array([[2, 1], [1], [2]], lists),
            "labels": pa.array([[0], [3, 1], []], lists),
        }
    )


def as_lists(batch: RaggedBatch):
    return [part.tolist() for part in batch if isinstance(part, torch.Tensor)]


def test_batch_from_arrow():
    batch = batch_from_arrow(table())
    assert as_lists(batch) == [[5, 6, 7, 8, 9, 10], [2, 1, 1, 2], [2, 1, 1], [0, 3, 1], [1, 2, 0]]
    types = [torch.int32, torch.int64, torch.int64, torch.int64, torch.int64]
    assert [part.dtype for part in batch if isinstance(part, torch.Tensor)] == types


@pytest.mark.parametrize(
    "rows",
    [
        lambda: table().slice(1),
        lambda: table().filter(pa.array([False, True, True])),
        lambda: pa.concat_tables([table().slice(1, 1), table().slice(2, 1)]),
    ],
    ids=["slice", "filter", "chunks"],
)
def test_batch_from_part_of_a_table(rows):
    assert as_lists(batch_from_arrow(rows())) == [[8, 9, 10], [1, 2], [1, 1], [3, 1], [2, 0]]


def test_batch_does_not_share_memory_with_the_table():
    rows = table()
    batch_from_arrow(rows).words.zero_()
    assert rows.column("words").to_pylist()[0] == [5, 6, 7]


@pytest.mark.parametrize("ids", [[0, 1, 2, 3], [3, 2, 2, 0], [1], [], [2, 1, 0]])
def test_take_segments(ids):
    taken = gather_segments(
        VALUES, segment_starts(LENGTHS), LENGTHS, torch.tensor(ids, dtype=torch.long)
    )
    assert taken.tolist() == [value for i in ids for value in SEGMENTS[i]]


def test_distinct_ids():
    ids = torch.tensor([7, 2, 2, 9, 7], dtype=torch.int32)
    values, places = distinct(ids, 10)
    assert values.tolist() == [2, 7, 9]
    assert places.tolist() == [1, 0, 0, 2, 1]
    assert [part.tolist() for part in distinct(ids[:0], 10)] == [[], []]
    assert [part.dtype for part in distinct(ids, 10)] == [torch.int64, torch.int32]


@pytest.mark.parametrize("rows", [None, torch.tensor([8, 6, 7])])
def test_split(rows):
    batch = batch_from_arrow(table())._replace(rows=rows)
    parts = list(batch.split(2))
    first = [[5, 6, 7, 8], [2, 1, 1], [2, 1], [0, 3, 1], [1, 2]]
    second = [[9, 10], [2], [1], [], [0]]
    if rows is not None:
        first, second = [*first, [8, 6]], [*second, [7]]
    assert [as_lists(part) for part in parts] == [first, second]
    assert [as_lists(part) for part in batch.texts.split(2)] == [first[:3], second[:3]]
    assert list(batch.split(3)) == [batch]
    assert next(batch.split(9)) is batch
    whole = batch.texts
    assert next(whole.split(9)) is whole
    assert [len(part.label_counts) for part in batch.split(1)] == [1, 1, 1]


def test_texts_behind_each_other():
    parts = list(batch_from_arrow(table()).texts.split(1))
    assert as_lists(join(parts)) == as_lists(batch_from_arrow(table()))[:3]
    assert as_lists(join(parts[::-1])) == [[9, 10, 8, 5, 6, 7], [2, 1, 2, 1], [1, 1, 2]]


@pytest.mark.parametrize("ids", [[0, 1, 2], [2, 0], [1, 1], []])
def test_take_texts(ids):
    texts = batch_from_arrow(table()).texts
    taken = gather_texts(texts, torch.tensor(ids, dtype=torch.long))
    documents = [[[5, 6], [7]], [[8]], [[9, 10]]]
    chosen = [documents[i] for i in ids]
    assert as_lists(taken) == [
        [word for document in chosen for sentence in document for word in sentence],
        [len(sentence) for document in chosen for sentence in document],
        [len(document) for document in chosen],
    ]


def test_ids_of_rows_of_a_table():
    texts = batch_from_arrow(table()).texts
    assert texts.word_ids is texts.words
    rows = texts._replace(words=torch.arange(6), ids=texts.words)
    assert rows.word_ids.tolist() == [5, 6, 7, 8, 9, 10]


def test_split_with_what_a_pretrained_model_reads():
    texts = batch_from_arrow(table()).texts._replace(
        subwords=torch.arange(6), subword_counts=torch.tensor([1, 3, 2]), vectors=torch.eye(3)
    )
    first, second = texts.split(2)
    assert as_lists(first)[3:] == [[0, 1, 2, 3], [1, 3], [[1, 0, 0], [0, 1, 0]]]
    assert as_lists(second)[3:] == [[4, 5], [2], [[0, 0, 1]]]


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 256])
@pytest.mark.parametrize("weighted", [True, False])
def test_sums_in_two_rounds(monkeypatch, piece, weighted):
    """Of an id at its cut or not, and of none: in the beginning, in between and in the end."""
    monkeypatch.setattr(ragged, "_PIECE", piece)
    ids = torch.tensor([1, 1, 1, 1, 1, 1, 2, 4, 4, 5, 5, 5, 5])
    values = torch.arange(39.0).view(13, 3)
    weights = torch.arange(13.0) if weighted else None
    starts = torch.searchsorted(ids, torch.arange(8))
    bag = partial(embedding_bag, torch.arange(13), values, mode="sum", per_sample_weights=weights)
    found = ragged._in_two_rounds(bag, starts, 13)
    given = values * weights.unsqueeze(1) if weighted else values
    assert torch.equal(found, torch.zeros(8, 3).index_add(0, ids, given))


def test_on_a_device_no_size_depends_on_values():
    """The meta device has none."""
    ids = torch.zeros(4, dtype=torch.long, device="meta")
    assert count_ids(ids, 7).shape == (7,)
    assert count_ids(ids, 7, ids.bool()).shape == (7,)
    values = torch.zeros(5, 3, device="meta")
    assert sum_by_id(values, ids, ids, 7).shape == (7, 3)


@pytest.mark.parametrize(
    ("place", "size", "pinned"),
    [("cpu", 2**16 + 1, True), ("cpu", 2**16, False), ("cuda:1", 2**16 + 1, False)],
)
def test_large_memory_of_the_host_alone_is_pinned(place, size, pinned):
    calls = []
    tensor = SimpleNamespace(
        device=torch.device(place),
        nbytes=size,
        pin_memory=lambda: calls.append("pinned") or tensor,
        to=lambda device, non_blocking: calls.append((device, non_blocking)),
    )
    send(tensor, torch.device("cuda:0"))
    assert calls == ["pinned"] * pinned + [(torch.device("cuda:0"), True)]
