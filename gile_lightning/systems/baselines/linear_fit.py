"""Linear estimators for many labels, kept as a sparse matrix."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, vstack
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from torch import Tensor, nn

_NUMBERS = 2**25  # of a dense block, 256 MB


class SparseLinear(nn.Module):
    """The sparse matrix W [L, F] and the intercepts b [L] of logits W x + b.

    Args:
        labels: L.
        coefficients: how many in W are not zero.
    """

    offsets: Tensor
    columns: Tensor

    def __init__(self, labels: int, coefficients: int = 0) -> None:
        super().__init__()
        self.register_buffer("offsets", torch.zeros(labels + 1, dtype=torch.long))
        self.register_buffer("columns", torch.zeros(coefficients, dtype=torch.int32))
        self.values = nn.Parameter(torch.zeros(coefficients), requires_grad=False)
        self.intercepts = nn.Parameter(torch.zeros(labels), requires_grad=False)

    def set(self, weights: csr_array, intercepts: NDArray[np.float64]) -> None:
        """Take over coefficients [L, F] and intercepts [L]."""
        device = self.values.device
        self.offsets.copy_(torch.from_numpy(weights.indptr))
        self.columns = torch.from_numpy(weights.indices.astype(np.int32)).to(device)
        values = torch.from_numpy(weights.data).float().to(device)
        self.values = nn.Parameter(values, requires_grad=False)
        self.intercepts.copy_(torch.from_numpy(intercepts))

    def matrix(self, features: int) -> csr_array:
        """Return W [L, F]."""
        parts = (part.detach().cpu().numpy() for part in (self.values, self.columns, self.offsets))
        return csr_array(tuple(parts), shape=(len(self.intercepts), features))


def fit_labels(
    estimator: Any, features: csr_array, targets: csc_array, prune: float = 0.0, n_jobs: int = 1
) -> tuple[csr_array, NDArray[np.float64]]:
    """Fit a linear estimator to every label against the rest.

    One that takes many targets is given a block of labels at a time. Where all documents or none
    have a label, the coefficients are zero and the intercept is the logit of its smoothed share,
    (positives + 1/2) / (documents + 1).

    Args:
        estimator: a linear classifier or regressor of scikit-learn's.
        features: [n, F].
        targets: [n, L], 1 where a document has a label.
        prune: coefficients of a smaller absolute value become zero.
        n_jobs: processes for an estimator that takes one target.

    Returns:
        Coefficients [L, F] and intercepts [L] of logits. Those of a regressor are such that its
        prediction p becomes 4 (p - 1/2).
    """
    documents, labels = targets.shape
    tags = get_tags(estimator)
    many = tags.target_tags.multi_output
    if tags.classifier_tags is not None:
        many = many or tags.classifier_tags.multi_label
    size = max(1, _NUMBERS // max(features.shape)) if many else 1
    blocks = (targets[:, start : start + size] for start in range(0, labels, size))
    jobs = (delayed(_fit)(estimator, features, block, prune) for block in blocks)
    fitted = Parallel(n_jobs=1 if many else n_jobs)(jobs)
    weights = vstack([coefficients for coefficients, _ in fitted], format="csr")
    intercepts = np.concatenate([intercepts for _, intercepts in fitted])
    if is_regressor(estimator):
        weights, intercepts = 4 * weights, 4 * intercepts - 2
    positives = np.diff(targets.indptr)
    constant = (positives == 0) | (positives == documents)
    share = (positives[constant] + 0.5) / (documents + 1)
    intercepts[constant] = np.log(share / (1 - share))
    return weights, intercepts


def _fit(
    estimator: Any, features: csr_array, block: csc_array, prune: float
) -> tuple[csr_array, NDArray[np.float64]]:
    """Fit one block of labels: coefficients and intercepts; zeros for labels that never differ."""
    documents, labels = block.shape
    positives = np.diff(block.indptr)
    coefficients = np.zeros((labels, features.shape[1]))
    intercepts = np.zeros(labels)
    some = (positives > 0) & (positives < documents)
    if some.any():
        targets = block[:, some].toarray().astype(np.int8)
        fitted = clone(estimator).fit(features, targets if some.sum() > 1 else targets[:, 0])
        coefficients[some] = fitted.coef_
        intercepts[some] = fitted.intercept_
    coefficients[np.abs(coefficients) < prune] = 0
    return csr_array(coefficients), intercepts
