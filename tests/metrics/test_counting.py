"""Counts of scores below others, against loops."""

import pytest
import torch

from gile_lightning.metrics import counting
from gile_lightning.metrics.counting import count_below
from gile_lightning.metrics.ranking import rank_positives


def scores(dtype):
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(7, 40, generator=generator)
    values[:, ::3] = values[:, ::3].round()  # ties
    values[2, 5], values[3, 6] = torch.inf, -torch.inf
    return values.to(dtype)


def cells(rows, columns):
    """Every cell of a table as a positive: rows, columns, and positives of each row."""
    document = torch.arange(rows).repeat_interleave(columns)
    return document, torch.arange(columns).repeat(rows), torch.full((rows,), columns)


def by_loops(given, document, label_ids):
    """The four counts of each positive."""
    table = given.double().numpy()
    pairs = list(zip(document.tolist(), label_ids.tolist(), strict=True))
    return [
        [
            sum(table[i] < table[i, j]),
            sum(table[i] <= table[i, j]),
            sum(table[i, k] == table[i, j] for k in range(j)),
            sum(table[i, k] < table[i, j] for row, k in pairs if row == i),
        ]
        for i, j in pairs
    ]


def found(given, document, label_ids, label_counts, count=count_below):
    most = int(label_counts.max())
    return torch.stack(count(given, document, label_ids, label_counts, most)).T.tolist()


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("worth", [0, 1000], ids=["sorted", "compared"])
@pytest.mark.parametrize("step", [1, 2])
def test_counts_equal_loops_and_the_scores_stay(monkeypatch, dtype, threads, worth, step):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(counting, "_positives_in_time_of_a_sort", lambda *sizes: worth)
    given = scores(dtype)[:, ::step]
    before = given.clone()
    everything = cells(*given.shape)
    assert found(given, *everything) == by_loops(before, *everything[:2])
    assert torch.equal(given, before)


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
@pytest.mark.parametrize("step", [1, 2, 39, 40])  # with 40, 20, two columns and one
def test_a_gpu_counts_the_same(dtype, step):
    given = scores(dtype)[:, ::step]
    everything = cells(*given.shape)
    loops = by_loops(given, *everything[:2])
    assert found(given, *everything, count=counting._count_at_once) == loops


@pytest.mark.parametrize("count", [count_below, counting._count_at_once])
@pytest.mark.parametrize("worth", [0, 2, 1000])
def test_some_positives_of_some_rows(monkeypatch, count, worth):
    """Row 1 has none; where 2 are worth a sort, row 0 is sorted and row 2 compared."""
    monkeypatch.setattr(counting, "_positives_in_time_of_a_sort", lambda *sizes: worth)
    given = torch.tensor([[3.0, 1, 2, 2], [0, 0, 0, 0], [5, 4, 4, 6]])
    positives = torch.tensor([0, 0, 2]), torch.tensor([3, 0, 2]), torch.tensor([2, 0, 1])
    # 2 is above 1, and tied with the 2 before it; 3 is above the positive 2; 4 is the lowest
    expected = [[1, 3, 1, 0], [3, 4, 0, 1], [0, 2, 1, 0]]
    assert found(given, *positives, count=count) == expected


def test_no_positives():
    none = torch.zeros(0, dtype=torch.long)
    for counts in count_below(torch.zeros(0, 4), none, none, none, 0):
        assert counts.tolist() == []


@pytest.mark.parametrize("worth", [0, 1000], ids=["sorted", "compared"])
@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("threads", [1, 3])
def test_nan_is_refused_in_a_row_with_positives_or_without(monkeypatch, worth, row, threads):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(counting, "_positives_in_time_of_a_sort", lambda *sizes: worth)
    given = torch.zeros(2, 5)
    given[row, 3] = torch.nan
    positives = torch.tensor([0, 0]), torch.tensor([0, 1]), torch.tensor([2, 0])
    with pytest.raises(ValueError, match="scores contain NaN"):
        count_below(given, *positives, 2)
    count_below(given, *positives, 2, finite=True)  # is not looked at


def test_each_row_is_counted_in_the_quicker_way(monkeypatch):
    """A row is sorted where it has so many positives that comparing with each takes longer."""
    called = []
    monkeypatch.setattr(counting, "_positives_in_time_of_a_sort", lambda *sizes: 2.5)
    for name in ("_in_sorted_row", "_one_by_one"):
        real = getattr(counting, name)
        monkeypatch.setattr(
            counting,
            name,
            lambda row, own, n=name, f=real: [called.append((n, len(own))), f(row, own)][1],
        )
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    given = torch.arange(10.0).repeat(3, 1)
    counts = torch.tensor([2, 3, 0])
    label_ids, document = torch.tensor([1, 4, 2, 5, 7]), torch.tensor([0, 0, 1, 1, 1])
    count_below(given, document, label_ids, counts, 3)
    assert called == [("_one_by_one", 2), ("_in_sorted_row", 3), ("_one_by_one", 0)]


def test_a_trial_of_the_processor():
    """Comparing a row once takes less time than sorting it, on any processor."""
    assert counting._positives_in_time_of_a_sort(20_000, 1) > 1


def test_no_thread_of_pytorch_is_left_busy():
    """What starts PyTorch's threads would hold a core while rows are counted."""
    given = scores(torch.float)
    _, label_ids, label_counts = cells(7, 40)
    profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    with profile:
        rank_positives(given, label_ids, label_counts)
    used = {event.key for event in profile.key_averages()}
    assert not used & {"aten::searchsorted", "aten::repeat_interleave", "aten::amax"}
