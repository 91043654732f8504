import pyarrow as pa
import pytest
import torch

from gile_lightning.data.loading.ragged import RaggedBatch, batch_from_arrow, gather_texts, join


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
