"""A decision threshold for each label, near the common one where few documents speak."""

import numpy as np
from numpy.typing import NDArray

_CELLS = 100  # thresholds are hundredths
SHRINKAGE = 10  # validation documents with a label that weigh as much as the common threshold


def label_thresholds(
    log_odds: NDArray[np.float64],
    correct: NDArray[np.bool_],
    labels: NDArray[np.int32],
    count: int,
    threshold: float,
    f1: float,
    before: NDArray[np.floating] | None = None,
) -> NDArray[np.float64]:
    """Return a threshold of the probability for each label: [count].

    Micro-F1 is at least F if Σ (2 TP - F predicted) over labels is at least F times the positives.
    So a label's own threshold is that of its highest 2 TP - F predicted, with the best F of a
    common threshold; on ties the one nearest to that. The own threshold of a label that n of the
    documents have is then shrunk: the log-odds of the result are the mean of those of the own and
    the common threshold, with the weights n and 10. Own thresholds alone overfit (Yang, 2001).

    Args:
        log_odds: [N] of pairs of a document and a label, calibrated.
        correct: [N], whether the document has the label.
        labels: [N] label ids; those from ``count`` on are left out.
        count: the labels that get a threshold.
        threshold: the common one.
        f1: its micro-F1.
        before: [count] thresholds that take the place of the common one in that mean, of a model
            that was trained further; nan for a label that had none.
    """
    from scipy.special import expit, logit

    known = labels < count
    probabilities, correct, labels = expit(log_odds[known]), correct[known], labels[known]
    cells = np.minimum((probabilities * _CELLS).astype(int), _CELLS - 1)
    places = labels.astype(np.int64) * _CELLS + cells
    gain = 2.0 * correct - f1
    # what predicting all pairs of this cell and the higher ones gains
    gains = np.bincount(places, gain, minlength=count * _CELLS).reshape(count, _CELLS)
    gains = gains[:, ::-1].cumsum(1)[:, ::-1][:, 1:]
    own = np.arange(1, _CELLS) / _CELLS
    nearest = np.where(gains >= gains.max(1, keepdims=True) - 1e-9, abs(own - threshold), np.inf)
    weights = np.bincount(labels[correct], minlength=count) / SHRINKAGE
    chosen = logit(own[nearest.argmin(1)])
    common = np.full(count, threshold)
    if before is not None:
        common = np.where(np.isnan(before), common, before)
    shrunk: NDArray[np.float64] = expit((weights * chosen + logit(common)) / (weights + 1))
    return shrunk
