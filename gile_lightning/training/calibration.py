"""Probabilities that mean what they say: a calibration of log-odds on validation documents."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.metrics.best_pairs import Pairs
from gile_lightning.training.logistic import fit_logistic

FITTED = 12  # best labels of a validation document that the curves are fitted to
_LEAST = 0.05  # of slopes: every curve rises, so that no ranking changes


class Curve(NamedTuple):
    """A rising curve of log-odds z, for labels of n training documents.

    z becomes ``intercept`` - ``low`` log(1 + e^-z) + ``high`` log(1 + e^z) + ``frequency`` log n.
    With p = sigmoid(z) that is a log p - b log(1 - p) + c: the beta calibration of Kull et al.
    (2017), whose slope is ``low`` for improbable pairs and ``high`` for probable ones. The curve
    (0, 1, 1, 0) changes nothing.
    """

    intercept: float = 0.0
    low: float = 1.0
    high: float = 1.0
    frequency: float = 0.0


class Calibration:
    """Turns the log-odds of a model into those of the probability that a label is right.

    First the log-rates of the sampler are added, since sampled negatives make all labels look too
    likely (see `LabelSampler.negative_rates`). Then comes a `Curve`: one for labels seen in
    training, which knows their frequencies, another one for all others.

    Args:
        log_rates: [L] of the labels seen in training.
        frequencies: [L] their training documents, by falling number.
        seen: the curve of these labels.
        unseen: that of all others; their log-rate is that of the rarest label.
    """

    def __init__(
        self,
        log_rates: Tensor,
        frequencies: Sequence[int] | Tensor,
        seen: Curve = Curve(),  # noqa: B008 (a tuple)
        unseen: Curve = Curve(),  # noqa: B008 (a tuple)
    ) -> None:
        self.log_rates, self.seen, self.unseen = log_rates.float().cpu(), seen, unseen
        counts = torch.as_tensor(frequencies, dtype=torch.float32).cpu()
        last = self.log_rates[-1:] if len(counts) else torch.zeros(1)
        # the last row is that of labels without a training document
        self._log_rates = torch.cat([self.log_rates, last])
        shifts = torch.cat([seen.intercept + seen.frequency * counts.log(), torch.zeros(1)])
        shifts[-1] = unseen.intercept
        self._shifts = shifts

    def __call__(self, log_odds: Tensor, ids: Tensor) -> Tensor:
        """Return calibrated log-odds, in float32 or the higher precision of the log-odds.

        Args:
            log_odds: [B, K].
            ids: [K] or [B, K], the label ids of training; -1 for a label that it has not seen.
        """
        ids = ids.to(log_odds.device)
        new = ids < 0
        rates = self._log_rates.to(ids.device)[ids]
        shifts = self._shifts.to(ids.device)[ids]
        # in float32, whatever the default type is in training
        slopes = torch.tensor([self.seen[1:3], self.unseen[1:3]], dtype=torch.float32)
        low, high = slopes.to(ids.device)[new.long()].unbind(-1)
        kind = torch.promote_types(log_odds.dtype, torch.float32)
        z = log_odds.to(kind) + rates
        # -log(1 + e^-z) = z - log(1 + e^z)
        return shifts + low * z + (high - low) * F.softplus(z)

    def state(self) -> dict[str, Any]:
        """Return plain values for a checkpoint."""
        curves = {"seen": list(self.seen), "unseen": list(self.unseen)}
        return {"log_rates": self.log_rates, **curves}

    @classmethod
    def from_state(cls, state: dict[str, Any], frequencies: Sequence[int]) -> "Calibration":
        """Make the calibration of a checkpoint.

        Args:
            state: what `state` returned.
            frequencies: [L] training documents of the labels seen in training.
        """
        curves = Curve(*state["seen"]), Curve(*state["unseen"])
        return cls(state["log_rates"], frequencies, *curves)


def fit_calibration(
    seen: Pairs,
    unseen: Pairs,
    log_rates: Tensor,
    frequencies: Sequence[int],
    starts: tuple[Curve, Curve] | None = None,
) -> Calibration:
    """Fit the two curves to the best labels of validation documents.

    A curve has the highest likelihood of the pairs of a document and one of its 12 best labels,
    among the seen or the unseen ones. Documents without such a label are left out, as they are
    from the ranking metrics. A small penalty, Σ (coefficient - start)² / 2, holds a coefficient
    where few pairs speak: that of the seen labels starts at a curve that changes nothing, that of
    the unseen ones at the mean curve of the seen ones. So without an unseen label among the
    validation documents they have that curve.

    Args:
        seen: the best seen labels, with the log-odds of the model.
        unseen: the best of the others.
        log_rates: [L] of the labels seen in training.
        frequencies: [L] their training documents.
        starts: the curves of both of a model that was trained further, at which they start then.
    """
    counts, rates = np.asarray(frequencies, np.float64), log_rates.double().cpu().numpy()
    best = seen.best(FITTED)
    first = Curve() if starts is None else starts[0]
    curve = _fit(best, rates[best.labels], np.log(counts[best.labels]), first)
    # sorted, as sums should not depend on the order of documents
    mean = np.sort(np.log(counts[best.labels]), axis=None).mean() if best.labels.size else 0.0
    intercept = curve.intercept + curve.frequency * float(mean)
    start = curve._replace(intercept=intercept, frequency=0.0) if starts is None else starts[1]
    best = unseen.best(FITTED)
    last = rates[-1] if len(rates) else 0.0
    zeros = np.zeros(best.labels.shape)
    other = _fit(best, zeros + last, zeros, start)
    return Calibration(log_rates, frequencies, curve, other)


def _fit(
    pairs: Pairs, log_rates: NDArray[Any], log_frequencies: NDArray[Any], start: Curve
) -> Curve:
    if not pairs.correct.size:
        return start
    z = (pairs.log_odds + log_rates).ravel()
    y, n = pairs.correct.ravel(), log_frequencies.ravel()
    order = np.lexsort((y, n, z))  # sums do not depend on the order of documents
    z, y, n = z[order], y[order], n[order]
    features = np.stack([np.ones_like(z), -np.logaddexp(0, -z), np.logaddexp(0, z), n], 1)
    return Curve(*fit_logistic(features, y, start, [None, _LEAST, _LEAST, None]))
