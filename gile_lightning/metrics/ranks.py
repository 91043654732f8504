"""The ranks of the positives, and the metrics of a document that follow from them."""

from typing import NamedTuple

import torch
from torch import Tensor


class RankingScores(NamedTuple):
    """The ranking metrics of every document, each [B] float64 in [0, 1], NaN without a positive."""

    ranking_loss: Tensor
    average_precision: Tensor
    one_error: Tensor


class Ranks(NamedTuple):
    """Where the positives stand in the ranking of their documents; see `rank_positives`.

    Shapes: ``document`` [P] is the row of each positive, ``label_ids`` [P] its column and
    ``scores`` [P] its score; ``scores_not_below`` [P] and ``positives_not_below`` [P] count the
    columns and the positives of that row scored at least as high, itself included; ``position``
    [P] is its 0-based place when ties are broken by the lower column; ``label_counts`` [B] is the
    number of positives per document; ``columns`` is K.

    The metrics at k are about the first k places: they are float64 [B], NaN for a document without
    a positive, and raise `ValueError` if k is below 1.
    """

    document: Tensor
    label_ids: Tensor
    scores: Tensor
    scores_not_below: Tensor
    positives_not_below: Tensor
    position: Tensor
    label_counts: Tensor
    columns: int

    def metrics(self) -> RankingScores:
        """Return the three metrics that `ranking_metrics` defines."""
        negatives = self.columns - self.label_counts
        errors = self.total(self.scores_not_below - self.positives_not_below)
        # without a negative nothing can be ranked wrongly: 0, where the division would say 0 / 0
        ranking_loss = errors / (self.label_counts * negatives.clamp(min=1))
        # double first: the quotient of integers is float32
        precision = self.positives_not_below.double() / self.scores_not_below
        one_error = self._or_nan(1 - self.total(self.position == 0))
        return RankingScores(ranking_loss, self.total(precision) / self.label_counts, one_error)

    def precision_at(self, k: int) -> Tensor:
        """Return what `precision_at_k` defines."""
        return self._or_nan(self.total(self.within(k)) / k)

    def recall_at(self, k: int) -> Tensor:
        """Return the share of the positives that are among the k best columns."""
        return self.total(self.within(k)) / self.label_counts

    def ndcg_at(self, k: int) -> Tensor:
        """Return the normalized discounted cumulative gain of the k best columns.

        A positive at the 0-based place i gains 1 / log2(i + 2), a negative 0. The sum is divided by
        the highest possible one, that of min(k, positives) positives in the first places: nDCG of
        Järvelin & Kekäläinen (2002, TOIS) with binary gains.
        """
        gains = torch.where(self.within(k), _discount(self.position), 0)
        place = torch.arange(k, device=gains.device)
        ideal = torch.cat([gains.new_zeros(1), _discount(place).cumsum(0)])
        return self._or_nan(self.total(gains) / ideal[self.label_counts.clamp(1, k)])

    def propensity_scored_at(self, k: int, inverse_propensities: Tensor) -> tuple[Tensor, Tensor]:
        """Return k times the propensity-scored precision@k, and k times the best attainable one.

        The first is the sum of 1 / p_l over the positives l among the k best columns (Jain, Prabhu
        & Varma, 2016, KDD, Table 2), the second that of the min(k, positives) least propensities.
        Their means over documents give PSP@k as one quotient, as reported for the data sets of the
        extreme classification repository.

        Args:
            k: At least 1.
            inverse_propensities: [K] float64, 1 / p_l of the columns; see `inverse_propensities`.

        Returns:
            Two sums per document, [B] float64, 0 (not NaN) for a document without a positive.
        """
        gains = inverse_propensities[self.label_ids]
        order, place = self.sorted(-gains)
        best = gains[order] * (place < k)
        return self.total(gains * self.within(k)), self.total(best)

    def within(self, k: int) -> Tensor:
        """Return which positives are among the k best columns of their documents, [P]."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        return self.position < k

    def sorted(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return the order of the positives by rising values, document by document.

        Returns:
            Their indices in that order, and the 0-based place of each index in its document. As
            before, index i of the order belongs to the document ``document[i]``.
        """
        rising = values.argsort()
        order = rising[self.document[rising].argsort(stable=True)]
        before = (self.label_counts.cumsum(0) - self.label_counts)[self.document]
        return order, torch.arange(len(order), device=order.device) - before

    def total(self, values: Tensor) -> Tensor:
        """Add up values of the positives, [P], by document: [B] float64."""
        total = torch.zeros(len(self.label_counts), dtype=torch.float64, device=values.device)
        return total.index_add_(0, self.document, values.double())

    def _or_nan(self, values: Tensor) -> Tensor:
        return values.masked_fill(self.label_counts == 0, torch.nan)


def _discount(position: Tensor) -> Tensor:
    return 1 / (position.double() + 2).log2()
