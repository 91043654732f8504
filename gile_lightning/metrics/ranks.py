"""Where the positives of documents stand in their rankings."""

from typing import NamedTuple

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import segment_starts


class Ranks(NamedTuple):
    """The ranks of the positives of B documents among K labels; `rank_positives` makes them.

    The P positives stand document after document. A score is not below another if it is at least
    as high; the positive itself counts.

    Attributes:
        document: [P] row of each positive.
        label_ids: [P] its column.
        scores: [P] its score.
        scores_not_below: [P] how many columns of its row are not below it.
        positives_not_below: [P] how many positives of its row are not below it.
        position: [P] its 0-based place; on ties the lower column comes first.
        label_counts: [B] positives per document.
        columns: K.
    """

    document: Tensor
    label_ids: Tensor
    scores: Tensor
    scores_not_below: Tensor
    positives_not_below: Tensor
    position: Tensor
    label_counts: Tensor
    columns: int

    def within(self, k: int) -> Tensor:
        """Return which positives are among the k best columns of their documents, [P]."""
        return self.position < k

    def total(self, values: Tensor) -> Tensor:
        """Add up values of the positives, [P], by document: [B] float64."""
        total = torch.zeros(len(self.label_counts), dtype=torch.float64, device=values.device)
        return total.index_add_(0, self.document, values.double())

    def sorted(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return the order of the positives by rising values, document by document.

        Returns:
            Their indices in that order, and the 0-based place of each index in its document. As
            before, index i of the order belongs to the document ``document[i]``.
        """
        rising = values.argsort()
        order = rising[self.document[rising].argsort(stable=True)]
        before = segment_starts(self.label_counts)[self.document]
        return order, torch.arange(len(order), device=order.device) - before

    def or_nan(self, values: Tensor) -> Tensor:
        """Return values of the documents, [B], with NaN for a document without a positive."""
        return values.masked_fill(self.label_counts == 0, torch.nan)
