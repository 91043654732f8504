"""Metrics of the ranking of all candidate labels, as `ranking_metrics` defines them."""

from torch import Tensor

from gile_lightning.metrics.document_metric import DocumentMetric
from gile_lightning.metrics.ranks import Ranks


class RankingLoss(DocumentMetric):
    """Share of the pairs of a positive and a negative that are ranked wrongly; ties are wrong."""

    name = "ranking_loss"
    heading = "ranking loss"
    higher_is_better = False

    def __call__(self, ranks: Ranks) -> Tensor:
        """Return fractions, [B] float64."""
        negatives = ranks.columns - ranks.label_counts
        errors = ranks.total(ranks.scores_not_below - ranks.positives_not_below)
        # without a negative nothing can be ranked wrongly: 0, where the division would say 0 / 0
        return errors / (ranks.label_counts * negatives.clamp(min=1))


class AveragePrecision(DocumentMetric):
    """Mean over the positives of the precision among the labels scored at least as high."""

    name = "average_precision"
    heading = "average precision"
    without_positive = 1.0

    def __call__(self, ranks: Ranks) -> Tensor:
        """Return fractions, [B] float64."""
        # double first: the quotient of integers is float32
        precision = ranks.positives_not_below.double() / ranks.scores_not_below
        return ranks.total(precision) / ranks.label_counts


class OneError(DocumentMetric):
    """1 if the label with the highest score, the first of them on ties, is a negative, else 0."""

    name = "one_error"
    heading = "one-error"
    higher_is_better = False
    without_positive = 1.0

    def __call__(self, ranks: Ranks) -> Tensor:
        """Return 0 or 1, [B] float64."""
        return ranks.or_nan(1 - ranks.total(ranks.position == 0))
