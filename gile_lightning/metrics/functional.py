"""Ranking metrics of documents, as functions of scores and positives."""

from typing import NamedTuple

from torch import Tensor

from gile_lightning.metrics.at_cutoff import PrecisionAt
from gile_lightning.metrics.ranking import rank_positives
from gile_lightning.metrics.whole_ranking import AveragePrecision, OneError, RankingLoss


class RankingScores(NamedTuple):
    """The ranking metrics of every document, each [B] float64 in [0, 1], NaN without a positive."""

    ranking_loss: Tensor
    average_precision: Tensor
    one_error: Tensor


def ranking_metrics(scores: Tensor, label_ids: Tensor, label_counts: Tensor) -> RankingScores:
    """Return ranking loss, average precision and one-error of every document.

    With P the positives and N the negatives of a document, s its scores:

    * ranking loss: share of the pairs (p in P, n in N) with s_n >= s_p; 0 if N is empty.
    * average precision: mean over p in P of #{p' in P: s_p' >= s_p} / #{j: s_j >= s_p}.
    * one-error: 1 if the column with the highest score, the first of them on ties, is a negative,
      else 0.

    These are the "rank loss, average precision, one-error" of Pappas & Henderson (2019, TACL,
    section 4.1). Ties count as in scikit-learn: `label_ranking_loss` and
    `label_ranking_average_precision_score` give the same numbers row by row.

    Scores are compared in their own precision. They are copied once, in float32 or float64, so pass
    large matrices in batches, of 128 documents for example.

    Args:
        scores: [B, K] floating point, higher is better; infinities are allowed.
        label_ids: [P] integers in [0, K), the positives of document 0, then of document 1, ...;
            in any order, but distinct within a document.
        label_counts: [B] integers, the number of positives per document.

    Returns:
        Fractions in [0, 1], [B] float64 each, on the device of the scores; NaN for a document
        without a positive.

    Raises:
        ValueError: the shapes or types do not fit, an id is out of range or twice in a document,
            or a score is NaN.

    Example:
        >>> import torch
        >>> scores = torch.tensor([[0.9, 0.8, 0.1, 0.7, 0.05]])
        >>> result = ranking_metrics(scores, torch.tensor([0, 1, 2]), torch.tensor([3]))
        >>> [round(metric.item(), 4) for metric in result]
        [0.1667, 0.9167, 0.0]
    """
    ranks = rank_positives(scores, label_ids, label_counts)
    return RankingScores(
        *(metric(ranks) for metric in (RankingLoss(), AveragePrecision(), OneError()))
    )


def precision_at_k(scores: Tensor, label_ids: Tensor, label_counts: Tensor, k: int) -> Tensor:
    """Return the share of positives among the k best columns of every document.

    On ties the lower column comes first. The divisor is k even where there are fewer than k
    columns.

    Args:
        scores: [B, K], as in `ranking_metrics`.
        label_ids: [P], as in `ranking_metrics`.
        label_counts: [B], as in `ranking_metrics`.
        k: at least 1.

    Returns:
        Fractions in [0, 1], [B] float64; NaN for a document without a positive.

    Raises:
        ValueError: k is below 1, or as in `ranking_metrics`.
    """
    return PrecisionAt(k)(rank_positives(scores, label_ids, label_counts))
