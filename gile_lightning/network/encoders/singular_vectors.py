"""The largest singular vectors of a sparse matrix, with the time that is left."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gile_lightning.common.progress import Progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array

OVERSAMPLES = 10  # dimensions that are tried beside those that are wanted


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
            basis, _ = linalg.lu(product @ basis, permute_l=True, check_finite=False)
            progress.advance()
        basis, _ = linalg.qr(tall @ basis, mode="economic", check_finite=False)
        progress.advance()
        inner, values, right = linalg.svd(basis.T @ tall, full_matrices=False)
        left, right = svd_flip(basis @ inner, right, u_based_decision=not wide)
        progress.advance(3)
    return (right.T if wide else left)[:, :size], values[:size]
