from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import embedding_bag

from gile_lightning.data.loading import flat
from gile_lightning.data.loading.flat import (
    count_ids,
    distinct,
    gather_segments,
    segment_starts,
    send,
    sum_by_id,
)

LENGTHS = torch.tensor([2, 0, 3, 1])
VALUES = torch.tensor([10, 11, 20, 21, 22, 30])
SEGMENTS = [[10, 11], [], [20, 21, 22], [30]]


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


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 256])
@pytest.mark.parametrize("weighted", [True, False])
def test_sums_in_two_rounds(monkeypatch, piece, weighted):
    """Of an id at its cut or not, and of none: in the beginning, in between and in the end."""
    monkeypatch.setattr(flat, "_PIECE", piece)
    ids = torch.tensor([1, 1, 1, 1, 1, 1, 2, 4, 4, 5, 5, 5, 5])
    values = torch.arange(39.0).view(13, 3)
    weights = torch.arange(13.0) if weighted else None
    starts = torch.searchsorted(ids, torch.arange(8))
    bag = partial(embedding_bag, torch.arange(13), values, mode="sum", per_sample_weights=weights)
    found = flat._in_two_rounds(bag, starts, 13)
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
