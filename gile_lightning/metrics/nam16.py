"""Ranking metrics as the scripts of Nam et al. (2016, AAAI) compute them."""

from typing import NamedTuple

import torch
from torch import Tensor

from gile_lightning.metrics.ranking import rank_positives
from gile_lightning.metrics.ranks import Ranks


class Nam16Scores(NamedTuple):
    """The metrics of every document, each [B] float64, NaN without a positive."""

    nam16_ranking_loss: Tensor
    nam16_average_precision: Tensor
    nam16_one_error: Tensor


def nam16_metrics(scores: Tensor, label_ids: Tensor, label_counts: Tensor) -> Nam16Scores:
    """Return ranking loss, average precision and one-error as the scripts of Nam et al. do.

    They differ from `ranking_metrics`, and their average precision is none. To compare a positive
    p with the negatives, they set the scores of all positives P to 0 and count the columns that are
    not below p: r_p is the number of negatives scored at least as high, and |P| more if s_p <= 0.
    With r sorted, i = 0, 1, ... and N the negatives:

    * ranking loss: sum of r_p over |P| |N|. Above 1 is possible; |N| counts as 1 if it is 0.
    * average precision: mean over i of (i + 1) / (r_i + 1), which lacks the i positives above in
      the denominator: a perfect ranking of 3 positives gets 2.
    * one-error: 1 unless some r_p is 0: also where a negative ties with the best positive.

    The zero makes them depend on where the scores have theirs: they are for inner products, such as
    those of AiTextML. Logits of probabilities below one half are negative: such positives are
    ranked behind themselves. The scripts leave out documents without a positive.

    Arguments and errors are those of `ranking_metrics`.

    Example:
        >>> scores = torch.tensor([[0.9, 0.8, 0.7, 0.1, 0.05]])
        >>> result = nam16_metrics(scores, torch.tensor([0, 1, 2]), torch.tensor([3]))
        >>> [metric.item() for metric in result]
        [0.0, 2.0, 0.0]
    """
    return of_ranks(rank_positives(scores, label_ids, label_counts))


def of_ranks(ranks: Ranks) -> Nam16Scores:
    """Return what `nam16_metrics` does for documents that are ranked already."""
    document, counts = ranks.document, ranks.label_counts
    above = ranks.scores_not_below - ranks.positives_not_below
    rank = above + counts[document] * (ranks.scores <= 0)
    order, place = ranks.sorted(rank)
    precision = (place + 1).double() / (rank[order] + 1)
    negatives = (ranks.columns - counts).clamp(min=1)
    some = ranks.total(rank == 0) > 0
    return Nam16Scores(
        ranks.total(rank) / (counts * negatives),
        ranks.total(precision) / counts,
        (~some).double().masked_fill(counts == 0, torch.nan),
    )
