from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gile_lightning.metrics import sorting
from gile_lightning.metrics.sorting import sort_rows, ties_before


def scores(dtype):
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(7, 40, generator=generator)
    values[:, ::3] = values[:, ::3].round()  # ties
    values[2, 5], values[3, 6] = torch.inf, -torch.inf
    return values.to(dtype)


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_sorted_and_the_scores_stay(monkeypatch, dtype, threads):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    given = scores(dtype)
    before = given.clone()
    ascending = sort_rows(given)
    assert torch.equal(ascending.to(dtype), before.sort(dim=1).values)
    assert torch.equal(given, before)
    assert torch.equal(sort_rows(given[:, ::2]).to(dtype), before[:, ::2].sort(dim=1).values)


def test_no_rows():
    assert sort_rows(torch.zeros(0, 4)).shape == (0, 4)


@pytest.mark.parametrize("compared", [10, 100, 2**22])  # less than a row, two rows, all
@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_ties_to_the_left_equal_a_loop(monkeypatch, dtype, compared):
    monkeypatch.setattr(sorting, "_COMPARED", compared)
    given = scores(dtype)
    rows = torch.arange(7).repeat_interleave(40)
    columns = torch.arange(40).repeat(7)
    table = given.double().numpy()
    expected = [
        sum(table[i, k] == table[i, j] for k in range(j)) for i, j in np.ndindex(*table.shape)
    ]
    assert ties_before(given, rows, columns).tolist() == expected
    assert ties_before(given, rows[:0], columns[:0]).tolist() == []
    on_a_gpu = sorting._compared
    assert on_a_gpu(given, rows, columns).tolist() == expected
    assert on_a_gpu(given, rows[:0], columns[:0]).tolist() == []


def test_a_gpu_counts_ties_itself(monkeypatch):
    """Its scores need not come to the host."""
    monkeypatch.setattr(sorting, "_compared", lambda *given: given)
    given = SimpleNamespace(device=torch.device("cuda")), 1, 2
    assert ties_before(*given) == given
