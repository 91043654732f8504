"""The ranking metrics as one torchmetrics metric: means over documents, batches and processes."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from gile_lightning.metrics.ranking import rank_positives
from gile_lightning.metrics.summed import SummedMetric


class RankingMetrics(SummedMetric):
    """Mean ranking loss, average precision, one-error and precision@k over documents.

    The means are over documents that have a positive among the candidate labels, as in Pappas &
    Henderson (2019, TACL, section 4.1); `ranking_metrics` and `precision_at_k` define the metrics
    of one document. Sums are kept in float64 whatever the precision of the model, so the result
    does not depend on how documents are spread over batches and processes.

    Args:
        precision_at: The values of k of precision@k, distinct and at least 1.
        without_positive: What becomes of a document without a positive. ``"skip"`` leaves it out.
            ``"released"`` counts it as the authors' released code does: ranking loss 0, average
            precision 1, one-error 1, precision 0.

    Raises:
        ValueError: An argument is none of the above.
    """

    totals: Tensor

    def __init__(
        self,
        precision_at: Sequence[int] = (1, 5),
        without_positive: Literal["skip", "released"] = "skip",
    ) -> None:
        super().__init__()
        if any(k < 1 for k in precision_at) or len(set(precision_at)) != len(precision_at):
            raise ValueError(
                f"precision_at must be distinct numbers of at least 1, not {list(precision_at)}"
            )
        if without_positive not in ("skip", "released"):
            raise ValueError(
                f"without_positive must be 'skip' or 'released', not {without_positive!r}"
            )
        self.precision_at = tuple(precision_at)
        self.without_positive = without_positive
        # One state, the sums of the metrics, then the two counts: one message between processes.
        self.names = (
            *("ranking_loss", "average_precision", "one_error"),
            *(f"precision_at_{k}" for k in self.precision_at),
        )
        self.add_state(
            "totals", torch.zeros(len(self.names) + 2, dtype=torch.float64), dist_reduce_fx="sum"
        )

    def update(self, scores: Tensor, label_ids: Tensor, label_counts: Tensor) -> None:
        """Add a batch of documents.

        Args:
            scores: [B, K] scores of the candidate labels, higher is better.
            label_ids: [P] columns of the positives, document after document.
            label_counts: [B] number of positives per document.

        Raises:
            ValueError: As in `ranking_metrics`.
        """
        ranks = rank_positives(scores, label_ids, label_counts)
        values = torch.stack(
            [*ranks.metrics(), *(ranks.precision_at(k) for k in self.precision_at)], dim=1
        )
        lacking = ranks.label_counts == 0
        released = self.without_positive == "released"
        stand_in = torch.zeros_like(values[:1])
        if released:
            stand_in[:, 1:3] = 1  # average precision and one-error
        values = torch.where(lacking[:, None], stand_in, values)
        skipped = lacking.sum()
        documents = len(lacking) - (0 if released else skipped)
        counts = torch.stack([skipped.new_zeros(()) + documents, skipped])
        self.totals = self.totals + torch.cat([values.sum(0), counts])

    def compute(self) -> dict[str, Tensor]:
        """Return the means over all documents so far, in all processes.

        Returns:
            float64 scalars: ``ranking_loss``, ``average_precision``, ``one_error`` and a
            ``precision_at_<k>`` for each k are fractions in [0, 1], NaN if there is no document;
            ``documents`` is how many they are the mean of, ``skipped`` how many documents had no
            positive.
        """
        *sums, documents, skipped = self.totals.unbind()
        means = {name: total / documents for name, total in zip(self.names, sums, strict=True)}
        return {**means, "documents": documents, "skipped": skipped}
