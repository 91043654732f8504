import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array
from sklearn.utils.extmath import randomized_svd

from gile_lightning.common.progress import Progress
from gile_lightning.network.encoders import singular_vectors
from gile_lightning.network.encoders.singular_vectors import left_singular_vectors


@pytest.mark.parametrize("shape", [(90, 200), (200, 90), (30, 12)])
def test_they_are_those_of_scikit_learn(shape):
    matrix = random_array(shape, density=0.1, rng=np.random.default_rng(0))
    matrix = csr_array(matrix.astype(np.float32))
    vectors, values, _ = randomized_svd(matrix, 9, n_iter=4, random_state=3)
    found, found_values = left_singular_vectors(matrix, 9, 4, 3)
    np.testing.assert_allclose(found, vectors, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found_values, values, rtol=1e-5)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_make_the_same_product(monkeypatch, threads):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    rng = np.random.default_rng(0)
    matrix = csr_array(random_array((40, 70), density=0.2, rng=rng).astype(np.float32))
    for sparse in (matrix, matrix.T):
        dense = rng.random((sparse.shape[1], 75), dtype=np.float32)
        np.testing.assert_array_equal(singular_vectors._times(sparse, dense), sparse @ dense)


@pytest.mark.parametrize("iterations", [0, 2, 5])
def test_what_is_shown_is_all_done_at_the_end(monkeypatch, iterations):
    shown = []

    class Shown(Progress):
        def __init__(self, *args):
            super().__init__(*args)
            shown.append(self)

    monkeypatch.setattr(singular_vectors, "Progress", Shown)
    matrix = csr_array(np.eye(12, 15, dtype=np.float32))
    left_singular_vectors(matrix, 2, iterations, 0)
    assert [progress.done for progress in shown] == [progress.total for progress in shown]
    assert len(shown) == 1
