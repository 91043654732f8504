from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gile_lightning.metrics import counting
from gile_lightning.metrics.counting import count_below, ties_before


def scores(dtype):
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(7, 40, generator=generator)
    values[:, ::3] = values[:, ::3].round()  # ties
    values[2, 5], values[3, 6] = torch.inf, -torch.inf
    return values.to(dtype)


def cells(rows, columns):
    """Every cell of a table as a positive: rows, places among the positives of a row, columns."""
    document = torch.arange(rows).repeat_interleave(columns)
    column = torch.arange(columns).repeat(rows)
    return document, column


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("limit", [0, 1000], ids=["sorted", "compared"])
@pytest.mark.parametrize("step", [1, 2])
def test_counts_equal_a_loop_and_the_scores_stay(monkeypatch, dtype, threads, limit, step):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(counting, "_positives_in_time_of_a_sort", lambda *sizes: limit)
    given = scores(dtype)[:, ::step]
    before = given.clone()
    document, column = cells(*given.shape)
    below, not_above = count_below(given, document, column, given.clone())
    table = before.double().numpy()
    expected = [
        (sum(table[i, k] < table[i, j] for k in range(len(row))), sum(row <= table[i, j]))
        for (i, j), row in ((cell, table[cell[0]]) for cell in np.ndindex(*table.shape))
    ]
    assert list(zip(below.tolist(), not_above.tolist(), strict=True)) == expected
    assert torch.equal(given, before)


def test_some_positives_of_some_rows():
    """Row 1 has none; the padding of the others counts nowhere."""
    given = torch.tensor([[3.0, 1, 2, 2], [0, 0, 0, 0], [5, 4, 4, 6]])
    positives = torch.tensor([[2, 3], [torch.inf] * 2, [4, torch.inf]])
    document, slot = torch.tensor([0, 0, 2]), torch.tensor([0, 1, 0])
    below, not_above = count_below(given, document, slot, positives)
    assert (below.tolist(), not_above.tolist()) == ([1, 3, 0], [3, 4, 2])


def test_no_positives():
    none = torch.zeros(0, dtype=torch.long)
    for found in count_below(torch.zeros(0, 4), none, none, torch.zeros(0, 0)):
        assert found.tolist() == []


def test_what_takes_less_time_is_done(monkeypatch):
    """A row is sorted where it has so many positives that comparing with each takes longer."""
    called = []
    monkeypatch.setattr(counting, "_positives_in_time_of_a_sort", lambda *sizes: 2.5)
    for name in ("_compared_rows", "_sorted_rows"):
        real = getattr(counting, name)
        monkeypatch.setattr(
            counting, name, lambda *args, n=name, f=real: [called.append(n), f(*args)][1]
        )
    for count in (2, 3):
        given = torch.arange(10.0).repeat(4, 1)
        document = torch.arange(4).repeat_interleave(count)
        slot = torch.arange(count).repeat(4)
        count_below(given, document, slot, given[:, :count].contiguous())
    assert called == ["_compared_rows", "_sorted_rows"]


def test_a_trial_of_the_processor():
    """Comparing a row once takes less time than sorting it, on any processor."""
    assert counting._positives_in_time_of_a_sort(20_000, 1) > 1


@pytest.mark.parametrize("compared", [10, 100, 2**22])  # less than a row, two rows, all
@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_ties_to_the_left_equal_a_loop(monkeypatch, dtype, compared):
    monkeypatch.setattr(counting, "_COMPARED", compared)
    given = scores(dtype)
    rows = torch.arange(7).repeat_interleave(40)
    columns = torch.arange(40).repeat(7)
    table = given.double().numpy()
    expected = [
        sum(table[i, k] == table[i, j] for k in range(j)) for i, j in np.ndindex(*table.shape)
    ]
    assert ties_before(given, rows, columns).tolist() == expected
    assert ties_before(given, rows[:0], columns[:0]).tolist() == []
    on_a_gpu = counting._compared
    assert on_a_gpu(given, rows, columns).tolist() == expected
    assert on_a_gpu(given, rows[:0], columns[:0]).tolist() == []


def test_a_gpu_counts_ties_itself(monkeypatch):
    """Its scores need not come to the host."""
    monkeypatch.setattr(counting, "_compared", lambda *given: given)
    given = SimpleNamespace(device=torch.device("cuda")), 1, 2
    assert ties_before(*given) == given
