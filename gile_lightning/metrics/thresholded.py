"""Micro-averaged precision, recall and F1 of the labels whose probability exceeds a threshold."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import segment_ids, send
from gile_lightning.metrics.predictions import CELLS, candidates, count_above
from gile_lightning.metrics.ranking import check_positives
from gile_lightning.metrics.summed import SummedMetric

SELECTION_THRESHOLD = 0.2
"""Threshold by which the authors' released code chooses the epoch, for every label set."""

THRESHOLDS = tuple(percent / 100 for percent in range(1, 100))


def paper_threshold(label_count: int, low_resource: bool = False) -> float:
    """Return the decision threshold of Pappas & Henderson (2019, TACL, section 4.2).

    Args:
        label_count: labels of the task.
        low_resource: whether the threshold is for the low-resource experiments.
    """
    if low_resource:
        return 0.3
    return 0.4 if label_count < 400 else 0.2


class F1Scores(NamedTuple):
    """Precision, recall and their harmonic mean: fractions, float64, 0 where they are 0 / 0."""

    precision: Tensor
    recall: Tensor
    f1: Tensor


class ThresholdScores(NamedTuple):
    """The scores at each of T thresholds.

    Attributes:
        thresholds: T numbers, rising.
        precision: [T], as in `F1Scores`.
        recall: [T].
        f1: [T].
    """

    thresholds: tuple[float, ...]
    precision: Tensor
    recall: Tensor
    f1: Tensor

    def at(self, threshold: float) -> dict[str, Tensor]:
        """Return the scalars ``precision``, ``recall`` and ``f1`` at one of the thresholds.

        Raises:
            ValueError: it is none of the thresholds.
        """
        for i, other in enumerate(self.thresholds):
            if math.isclose(other, threshold, rel_tol=1e-9):
                return {"precision": self.precision[i], "recall": self.recall[i], "f1": self.f1[i]}
        raise ValueError(
            f"{threshold} is none of the {len(self.thresholds)} thresholds counted, "
            f"{self.thresholds[0]} to {self.thresholds[-1]}; give MicroF1 that threshold too"
        )

    def best(self, among: Sequence[float] | None = None) -> tuple[float, float]:
        """Return the threshold of the highest F1, and that F1.

        If several have it, the one nearest the middle of the lowest and the highest is returned, on
        ties the lower one. The middle of a plateau is the safest choice for other documents.

        Args:
            among: the thresholds that are chosen among; by default all.
        """
        own = self.thresholds if among is None else among
        pairs = zip(self.thresholds, self.f1.tolist(), strict=True)
        found = {threshold: f1 for threshold, f1 in pairs if threshold in own}
        highest = max(found.values())
        tied = [threshold for threshold, f1 in found.items() if f1 == highest]
        middle = (tied[0] + tied[-1]) / 2
        # rounded, as 0.3 + 0.1 > 0.4
        return min(tied, key=lambda t: (round(abs(t - middle), 9), t)), highest


def micro_f1(
    probabilities: Tensor, label_ids: Tensor, label_counts: Tensor, threshold: float
) -> F1Scores:
    """Return micro-averaged precision, recall and F1 at one threshold.

    A label is predicted if its probability is strictly above the threshold, compared in the
    precision of the probabilities. TP is the number of positives that are predicted, over all
    documents and labels. Precision is TP over the predicted, recall TP over the positives, and F1
    is 2 TP over the sum of the two. These are the numbers of scikit-learn's
    `precision_recall_fscore_support` with ``average="micro", zero_division=0`` (Pappas & Henderson,
    2019, TACL, section 4.2: "micro-averaged F1").

    Args:
        probabilities: [B, K] floating point, not NaN.
        label_ids: [P] integers, the positives of document 0, then of document 1, ...; in any
            order, but distinct within a document. The model has no column for an id of K or more:
            such a positive counts as missed.
        label_counts: [B] integers, the number of positives per document.
        threshold: in [0, 1].

    Returns:
        Scalars, float64, on the device of the probabilities.

    Raises:
        ValueError: the shapes or types do not fit, or an id is negative or twice in a document.

    Example:
        >>> probabilities = torch.tensor([[0.9, 0.3, 0.2], [0.1, 0.6, 0.7]])
        >>> scores = micro_f1(probabilities, torch.tensor([0, 2, 2, 3]), torch.tensor([2, 2]), 0.2)
        >>> [round(score.item(), 4) for score in scores]
        [0.5, 0.5, 0.5]
    """
    of_positives = scores_of_positives(probabilities.detach(), label_ids, label_counts)
    limit = probabilities.new_tensor(threshold)
    return _scores(
        (of_positives > limit).sum(),
        (probabilities > limit).sum(),
        limit.new_tensor(len(label_ids), dtype=torch.long),
    )


def micro_f1_terms(
    logits: Tensor, label_ids: Tensor, label_counts: Tensor, threshold: float
) -> Tensor:
    """Return what each document contributes to the F1 of `micro_f1`, a quotient of two sums.

    The logit is compared with that of the threshold. So a probability next to the threshold may be
    rounded to the other side than in `micro_f1`.

    Args:
        logits: [B, K].
        label_ids: [P], as in `micro_f1`.
        label_counts: [B], as in `micro_f1`.
        threshold: in (0, 1).

    Returns:
        [B, 2] float32: twice the positives that are predicted; the predicted and the positives.
    """
    above = logits.float() > math.log(threshold / (1 - threshold))
    counts = send(label_counts, logits.device).float()
    hits = torch.zeros_like(counts)
    if columns := logits.shape[1]:
        document, scorable = segment_ids(label_counts, label_ids), label_ids < columns
        cells = tuple(send(x, logits.device) for x in (document, label_ids.clamp(max=columns - 1)))
        right = above[cells] & send(scorable, logits.device)
        hits.index_add_(0, cells[0], right.float())
    return torch.stack([2 * hits, above.count_nonzero(1) + counts], 1)


def micro_f1_of_pairs(log_odds: Tensor, correct: Tensor, positives: int) -> ThresholdScores:
    """Return what `MicroF1` does, from the pairs of documents and labels that may be predicted.

    Args:
        log_odds: [N] of pairs; all others are predicted at no threshold.
        correct: [N] booleans, whether the documents have the labels.
        positives: the number of labels of all documents.
    """
    limits = torch.tensor(THRESHOLDS, dtype=torch.float32, device=log_odds.device)
    true_positives = count_above([log_odds[correct]], limits)
    predicted = count_above([log_odds], limits)
    scores = _scores(true_positives, predicted, torch.full_like(predicted, positives))
    return ThresholdScores(THRESHOLDS, *scores)


class MicroF1(SummedMetric):
    """Micro-averaged precision, recall and F1 over documents, at many thresholds at once.

    `micro_f1` defines them. The state is three integers per threshold, summed over processes. So
    the result is exact, however documents are spread over batches and processes.

    Args:
        thresholds: in (0, 1) and at least 0.001 apart; 0.2, 0.3 and 0.4, which the paper uses, are
            added. The default is 0.01, 0.02, ..., 0.99.

    Raises:
        ValueError: a threshold is outside (0, 1), or too close to another.
    """

    totals: Tensor

    def __init__(self, thresholds: Sequence[float] = THRESHOLDS) -> None:
        super().__init__()
        extra = [t for t in (0.2, 0.3, 0.4) if not any(math.isclose(t, s) for s in thresholds)]
        self.thresholds = tuple(sorted([*thresholds, *extra]))
        if not 0 < self.thresholds[0] <= self.thresholds[-1] < 1:
            raise ValueError(f"thresholds must be above 0 and below 1, not {list(thresholds)}")
        if (self._limits("cpu") * CELLS).long().diff().eq(0).any():
            raise ValueError(
                "thresholds, with 0.2, 0.3 and 0.4, must be at least 0.001 apart, not "
                f"{list(thresholds)}"
            )
        # rows: positives predicted, predicted, positives
        self.add_state(
            "totals",
            torch.zeros(3, len(self.thresholds), dtype=torch.long),
            dist_reduce_fx="sum",
        )

    def update(
        self, logits: Tensor, label_ids: Tensor, label_counts: Tensor, finite: bool = False
    ) -> None:
        """Add a batch of documents.

        Args:
            logits: [B, K]; the probability is their sigmoid in float32.
            label_ids: [P], as in `micro_f1`.
            label_counts: [B], as in `micro_f1`.
            finite: whether it is known that no logit is NaN; a device is then not waited for.

        Raises:
            ValueError: as in `micro_f1`, or a logit is NaN.
        """
        logits = logits.detach()
        of_positives = scores_of_positives(logits, label_ids, label_counts)
        limits = send(self._limits("cpu"), logits.device)
        predicted = count_above(candidates(logits, self.thresholds[0], finite), limits)
        true_positives = count_above([of_positives], limits)
        positives = torch.full_like(predicted, len(label_ids))
        self.totals = self.totals + torch.stack([true_positives, predicted, positives])

    def compute(self) -> ThresholdScores:
        """Return the scores over all documents so far, in all processes."""
        return ThresholdScores(self.thresholds, *_scores(*self.totals.unbind()))

    def _limits(self, device: torch.device | str) -> Tensor:
        return torch.tensor(self.thresholds, dtype=torch.float32, device=device)


def _scores(true_positives: Tensor, predicted: Tensor, positives: Tensor) -> F1Scores:
    # double first: the quotient of integers is float32
    true_positives = true_positives.double()
    f1 = 2 * true_positives / (predicted + positives)
    scores = true_positives / predicted, true_positives / positives, f1
    return F1Scores(*(score.nan_to_num() for score in scores))


def scores_of_positives(scores: Tensor, label_ids: Tensor, label_counts: Tensor) -> Tensor:
    """Return the scores of the positives that have a column, in one dimension."""
    if scores.ndim != 2 or not scores.is_floating_point():
        raise ValueError(
            f"probabilities or logits must be floating point [documents, labels], not "
            f"{scores.dtype} {list(scores.shape)}"
        )
    rows, columns = scores.shape
    if label_counts.shape != (rows,):
        raise ValueError(
            f"label_counts must have one entry for each of the {rows} documents, not the shape "
            f"{list(label_counts.shape)}"
        )
    check_positives(label_ids, label_counts)
    if not len(label_ids):
        return scores.new_empty(0)
    label_ids, label_counts = label_ids.long(), label_counts.long()
    if label_ids.min() < 0:
        raise ValueError(f"label_ids must not be negative, as {int(label_ids.min())} is")
    document = segment_ids(label_counts, label_ids)
    if ((document * (label_ids.max() + 1) + label_ids).sort().values.diff() == 0).any():
        raise ValueError("a label id is twice among the positives of one document")
    scorable = label_ids < columns
    cells = document[scorable], label_ids[scorable]
    return scores[tuple(send(x, scores.device) for x in cells)]
