"""F1 of every label at a threshold. Its mean over labels is macro-F1."""

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import count_ids, send
from gile_lightning.metrics.predictions import predictions
from gile_lightning.metrics.summed import SummedMetric
from gile_lightning.metrics.thresholded import scores_of_positives


class LabelF1(SummedMetric):
    """F1 of every label over documents, at one threshold.

    A label is predicted for a document where `micro_f1` predicts it. F1 of a label is 2 TP over the
    sum of its predictions and its positives, counted over all documents. The mean over labels is
    macro-F1: scikit-learn's `f1_score` with ``average="macro", zero_division=0`` and ``labels`` the
    ones that occur among the positives. Labels that do not occur are left out: no model could find
    them.

    The state is three integers per label, summed over processes.

    Args:
        labels: K, the columns of the logits.
        threshold: in (0, 1).
    """

    counts: Tensor

    def __init__(self, labels: int, threshold: float) -> None:
        super().__init__()
        self.labels = labels
        self.threshold = threshold
        # rows: positives predicted, predicted, positives
        self.add_state("counts", torch.zeros(3, labels, dtype=torch.long), dist_reduce_fx="sum")

    def update(self, logits: Tensor, label_ids: Tensor, label_counts: Tensor) -> None:
        """Add a batch of documents.

        Args:
            logits: [B, K], not NaN; the probability is their sigmoid in float32.
            label_ids: [P], as in `micro_f1`; those without a column are left out.
            label_counts: [B], as in `micro_f1`.

        Raises:
            ValueError: as in `micro_f1`.
        """
        predicted = predictions(logits.detach(), self.threshold)
        of_positives = scores_of_positives(predicted, label_ids, label_counts)
        positives = send(label_ids[label_ids < self.labels].long(), logits.device)
        true_positives = count_ids(positives, self.labels, of_positives > 0)
        occurring = count_ids(positives, self.labels)
        counts = torch.stack([true_positives, predicted.sum(0).long(), occurring])
        self.counts = self.counts + counts

    def compute(self) -> Tensor:
        """Return F1 of every label: [K] float64, NaN for a label without a positive."""
        # double first: the quotient of integers is float32
        true_positives, predicted, positives = self.counts.double()
        f1 = 2 * true_positives / (predicted + positives)
        return torch.where(positives > 0, f1, torch.nan)
