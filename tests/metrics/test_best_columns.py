import numpy as np
import pytest
import torch

from gile_lightning.metrics.best_columns import _in_order, best_columns


@pytest.mark.parametrize("count", [1, 3, 7, 40, 50])
@pytest.mark.parametrize("different", [2, 5, 1_000_000])
@pytest.mark.parametrize("dtype", [torch.double, torch.float, torch.bfloat16], ids=str)
def test_on_ties_the_lower_column_comes_first(count, different, dtype):
    random = np.random.default_rng(count)
    scores = random.integers(-different, different, size=(30, 40)) / 7
    scores[::3, 5:20] = -np.inf
    scores[1::3, 10:30] = random.choice([0.0, -0.0], size=(10, 20))
    given = torch.from_numpy(scores).to(dtype)
    scores = given.double().numpy()
    values, columns = best_columns(given, count)
    values = values.double().numpy()
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(columns, expected)
    np.testing.assert_array_equal(_in_order(given, len(expected[0])), expected)  # on a device
    np.testing.assert_array_equal(values, np.take_along_axis(scores, expected, 1))


def test_no_rows_or_columns():
    for shape in ((0, 4), (3, 0)):
        values, columns = best_columns(torch.zeros(shape), 2)
        assert values.shape == columns.shape == (shape[0], min(2, shape[1]))
