import numpy as np
import pytest
import torch

from gile_lightning.systems.baselines.rows import add_to_rows


@pytest.fixture
def source():
    return np.random.default_rng(5)


@pytest.mark.parametrize("max_norm", [None, 1.0])
def test_equals_numpy(source, max_norm):
    table, values = source.normal(size=(9, 4)) / 2, source.normal(size=(6, 4))
    ids = source.integers(0, 7, size=30)  # rows 7 and 8 are never touched
    sources, weights = source.integers(0, 6, size=30), source.normal(size=30) / 5
    table[8] *= 10  # too long, but not touched
    expected = table.copy()
    np.add.at(expected, ids, weights[:, None] * values[sources])
    if max_norm is not None:
        norms = np.linalg.norm(expected[:7], axis=1, keepdims=True)
        expected[:7] *= np.minimum(max_norm / norms, 1)
        assert (norms > max_norm).any()
        assert (norms < max_norm).any()
    given = [torch.from_numpy(part) for part in (table, ids, values, sources, weights)]
    add_to_rows(*given, max_norm=max_norm)
    np.testing.assert_allclose(given[0].numpy(), expected, rtol=1e-12)


def test_value_i_goes_to_row_i_by_default():
    table = torch.zeros(3, 2)
    add_to_rows(table, torch.tensor([2, 0, 2]), torch.tensor([[1.0, 2], [3, 4], [5, 6]]))
    add_to_rows(table, torch.zeros(0, dtype=torch.long), torch.zeros(0, 2), max_norm=0.1)
    assert table.tolist() == [[3, 4], [0, 0], [6, 8]]
