"""Ranking metrics as the scripts of Nam et al. (2016, AAAI) compute them.

They differ from those of `ranking_metrics`, and their average precision is none. To compare a
positive p with the negatives, the scripts set the scores of all positives P to 0 and count the
columns that are not below p. So r_p is the number of negatives scored at least as high, and |P|
more if s_p <= 0.

The zero makes the metrics depend on where the scores have theirs. They are meant for inner
products, such as those of AiTextML. Logits of probabilities below one half are negative: such
positives are ranked behind themselves. The scripts leave out documents without a positive.
"""

from abc import ABC
from typing import NamedTuple

from torch import Tensor

from gile_lightning.metrics.document_metric import DocumentMetric
from gile_lightning.metrics.ranking import rank_positives
from gile_lightning.metrics.ranks import Ranks


class Nam16Scores(NamedTuple):
    """The metrics of every document, each [B] float64, NaN without a positive."""

    nam16_ranking_loss: Tensor
    nam16_average_precision: Tensor
    nam16_one_error: Tensor


class Nam16Metric(DocumentMetric, ABC):
    """One of the metrics of this module. It has no column, and is not in validation."""

    column = False
    validated = False
    without_positive = None

    def rank(self, ranks: Ranks) -> Tensor:
        """Return r_p of every positive, [P]."""
        above = ranks.scores_not_below - ranks.positives_not_below
        return above + ranks.label_counts[ranks.document] * (ranks.scores <= 0)


class Nam16RankingLoss(Nam16Metric):
    """Sum of r_p over |P| |N|, with N the negatives: may be above 1. |N| counts as 1 if it is 0."""

    name = "nam16_ranking_loss"
    heading = "ranking loss (Nam et al.)"
    higher_is_better = False

    def __call__(self, ranks: Ranks) -> Tensor:
        """Return numbers from 0, [B] float64."""
        negatives = (ranks.columns - ranks.label_counts).clamp(min=1)
        return ranks.total(self.rank(ranks)) / (ranks.label_counts * negatives)


class Nam16AveragePrecision(Nam16Metric):
    """Mean over i = 0, 1, ... of (i + 1) / (r_i + 1), with r sorted.

    The denominator lacks the i positives above: a perfect ranking of 3 positives gets 2.
    """

    name = "nam16_average_precision"
    heading = "average precision (Nam et al.)"

    def __call__(self, ranks: Ranks) -> Tensor:
        """Return numbers above 0, [B] float64."""
        rank = self.rank(ranks)
        order, place = ranks.sorted(rank)
        precision = (place + 1).double() / (rank[order] + 1)
        return ranks.total(precision) / ranks.label_counts


class Nam16OneError(Nam16Metric):
    """1 unless some r_p is 0: also where a negative ties with the best positive."""

    name = "nam16_one_error"
    heading = "one-error (Nam et al.)"

    def __call__(self, ranks: Ranks) -> Tensor:
        """Return 0 or 1, [B] float64."""
        some = ranks.total(self.rank(ranks) == 0) > 0
        return ranks.or_nan((~some).double())


def nam16_metrics(scores: Tensor, label_ids: Tensor, label_counts: Tensor) -> Nam16Scores:
    """Return the three metrics of this module.

    Arguments and errors are those of `ranking_metrics`.

    Example:
        >>> import torch
        >>> scores = torch.tensor([[0.9, 0.8, 0.7, 0.1, 0.05]])
        >>> result = nam16_metrics(scores, torch.tensor([0, 1, 2]), torch.tensor([3]))
        >>> [metric.item() for metric in result]
        [0.0, 2.0, 0.0]
    """
    ranks = rank_positives(scores, label_ids, label_counts)
    metrics = (Nam16RankingLoss(), Nam16AveragePrecision(), Nam16OneError())
    return Nam16Scores(*(metric(ranks) for metric in metrics))
