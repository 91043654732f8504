"""The largest singular vectors of a sparse matrix, with the time that is left."""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from gile_lightning.common.progress import Progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array

OVERSAMPLES = 10  # dimensions that are tried beside those that are wanted
COLUMNS = 32  # that a thread multiplies at a time


def left_singular_vectors(
    matrix: "csr_array", size: int, iterations: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Compute the left singular vectors of a matrix, and their values.

    Randomised subspace iteration (Halko, Martinsson & Tropp, 2011, SIAM Review 53, section 4.5).
    It draws and rounds as `sklearn.utils.extmath.randomized_svd` does, which cannot tell how far
    it is.

    Args:
        matrix: [V, n].
        size: k, the number of vectors; at most V and n.
        iterations: of the power method.
        seed: of the first subspace.

    Returns:
        U [V, k], and S [k], which falls.
    """
    from scipy import linalg
    from sklearn.utils.extmath import svd_flip

    wide = matrix.shape[0] < matrix.shape[1]
    tall: Any = matrix.T if wide else matrix
    random = np.random.RandomState(seed)
    basis = random.normal(size=(tall.shape[1], size + OVERSAMPLES)).astype(tall.dtype)
    # the last step, which decomposes, takes about as long as three products
    with Progress("word vectors of the corpus", 2 * iterations + 4, "steps") as progress:
        for product in [tall, tall.T] * iterations:
            basis, _ = linalg.lu(_times(product, basis), permute_l=True, check_finite=False)
            progress.advance()
        basis, _ = linalg.qr(_times(tall, basis), mode="economic", check_finite=False)
        progress.advance()
        inner, values, right = linalg.svd(_times(tall.T, basis).T, full_matrices=False)
        left, right = svd_flip(basis @ inner, right, u_based_decision=not wide)
        progress.advance(3)
    return (right.T if wide else left)[:, :size], values[:size]


def _times(matrix: Any, dense: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply a sparse matrix by a dense one; as many threads as PyTorch has share the columns.

    SciPy uses one thread. Each number is the sum that it makes, to the bit.
    """
    found = np.empty((matrix.shape[0], dense.shape[1]), dtype=dense.dtype)

    def fill(start: int) -> None:
        some = slice(start, start + COLUMNS)
        found[:, some] = matrix @ dense[:, some]

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        list(pool.map(fill, range(0, dense.shape[1], COLUMNS)))
    return found
