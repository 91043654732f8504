"""The calibrations of a system: fitted in validation, kept in its checkpoint."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.metrics.best_pairs import Pairs
from gile_lightning.metrics.thresholded import micro_f1_of_pairs
from gile_lightning.training.calibration import Calibration, fit_calibration
from gile_lightning.training.label_thresholds import label_thresholds

Found = Mapping[str, Pairs]  # the best pairs of the seen and of the unseen labels


class Calibrations:
    """The calibrations of a system's tasks; there is none until a validation has fitted them.

    Attributes:
        by_task: the calibrations by the name of the task.
        thresholds: of the probability of each label seen in training [L], likewise.
        earlier: those that a model had before it was trained further, with the thresholds in the
            order of its new labels, which are nan for labels that had none.
    """

    def __init__(self) -> None:
        self.earlier: dict[str, tuple[Calibration, Tensor]] = {}
        self.by_task: dict[str, Calibration] = {}
        self.thresholds: dict[str, Tensor] = {}

    def fit(self, name: str, found: Found, log_rates: Tensor, labels: LabelSet) -> float:
        """Fit the calibration of a task to validation documents, then thresholds.

        Args:
            name: of the task.
            found: the best pairs, with the log-odds of the model.
            log_rates: [L] of the sampler.
            labels: those of the task.

        Returns:
            The threshold of the calibrated probability with the best micro-F1 of all labels.
        """
        frequencies = labels.frequencies[: labels.seen]
        earlier, before = self.earlier.get(name, (None, None))
        starts = None if earlier is None else (earlier.seen, earlier.unseen)
        calibration = fit_calibration(
            found["seen"], found["unseen"], log_rates, frequencies, starts
        )
        self.by_task[name] = calibration
        ids, calibrated = training_ids(labels), {}
        for key, pairs in found.items():
            columns = ids[torch.from_numpy(pairs.labels).long()]
            values = calibration(torch.from_numpy(pairs.log_odds), columns).numpy()
            calibrated[key] = pairs._replace(log_odds=values)
        log_odds, places, correct, positives = _flat(calibrated)
        threshold, f1 = micro_f1_of_pairs(log_odds, correct, positives).best()
        own = label_thresholds(
            log_odds.numpy(),
            correct.numpy(),
            places.numpy(),
            labels.seen,
            threshold,
            f1,
            None if before is None else before.numpy(),
        )
        self.thresholds[name] = torch.from_numpy(own).float()
        return threshold

    def begin_with(self, state: Mapping[str, Any], name: str, old: LabelSet, new: LabelSet) -> None:
        """Have `fit` begin with what a checkpoint holds of a task, where few documents speak.

        Args:
            state: what `state` returned there.
            name: of the task.
            old: its labels there.
            new: its labels now.
        """
        if name in state:
            frequencies = old.frequencies[: old.seen]
            calibration = Calibration.from_state(state[name], frequencies)
            thresholds = torch.cat([state[name]["thresholds"].cpu(), torch.tensor([math.nan])])
            ids = training_ids(new, old)[: new.seen]
            self.earlier[name] = calibration, thresholds[ids]

    def apply(self, name: str, log_odds: Tensor, ids: Tensor) -> Tensor:
        """Return calibrated log-odds [B, K], or those of the model if nothing was fitted.

        Args:
            name: of the task.
            log_odds: [B, K] of the model.
            ids: [K] or [B, K]; see `training_ids`.
        """
        calibration = self.by_task.get(name)
        return log_odds if calibration is None else calibration(log_odds, ids)

    def limits(self, name: str, threshold: float, ids: Tensor) -> Tensor:
        """Return the thresholds of labels, of the same shape as their ids.

        Args:
            name: of the task.
            threshold: that of labels which training has not seen.
            ids: see `training_ids`.
        """
        return torch.cat([self.thresholds[name], torch.tensor([threshold])])[ids.cpu()]

    def f1(self, name: str, found: Found, threshold: float, labels: LabelSet) -> float:
        """Return the micro-F1 of all labels at their own thresholds.

        Args:
            name: of the task.
            found: the best pairs of test documents, with calibrated log-odds.
            threshold: that of labels which training has not seen.
            labels: those of the documents.
        """
        log_odds, columns, correct, positives = _flat(found)
        limits = self.limits(name, threshold, training_ids(labels)[columns.long()])
        predicted = log_odds.sigmoid() > limits
        both = int(predicted.sum()) + positives
        return 2 * int((predicted & correct).sum()) / max(both, 1)

    def state(self) -> dict[str, Any]:
        """Return plain values for a checkpoint."""
        return {
            name: {**calibration.state(), "thresholds": self.thresholds[name]}
            for name, calibration in self.by_task.items()
        }

    def load(self, state: Mapping[str, Any], tasks: Mapping[str, Task]) -> None:
        """Take over what a checkpoint holds of these tasks."""
        self.by_task, self.thresholds = {}, {}
        for name in tasks.keys() & state.keys():
            labels = tasks[name].labels
            frequencies = labels.frequencies[: labels.seen]
            self.by_task[name] = Calibration.from_state(state[name], frequencies)
            self.thresholds[name] = state[name]["thresholds"]


def training_ids(labels: LabelSet, own: LabelSet | None = None) -> Tensor:
    """Return the id in training of each label [K]; -1 for one without a training document.

    Args:
        labels: any label set.
        own: that of the model; by default it is ``labels``.
    """
    own = own or labels
    places = range(len(labels)) if labels is own else labels.places_in(own)
    ids = torch.tensor([*places], dtype=torch.long)
    return torch.where(ids < own.seen, ids, -1)


def _flat(found: Found) -> tuple[Tensor, Tensor, Tensor, int]:
    """Return the log-odds, labels and hits of all pairs [N], and the number of positives."""
    log_odds, labels, correct = (
        torch.from_numpy(np.concatenate([getattr(pairs, key).ravel() for pairs in found.values()]))
        for key in ("log_odds", "labels", "correct")
    )
    return log_odds, labels, correct, sum(int(pairs.positives.sum()) for pairs in found.values())
