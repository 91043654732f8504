"""Ranking metrics for large label sets, and micro-averaged F1 at a threshold."""

from gile_lightning.metrics.collection import RankingMetrics
from gile_lightning.metrics.ranking import (
    RankingScores,
    Ranks,
    precision_at_k,
    rank_positives,
    ranking_metrics,
    select,
)
from gile_lightning.metrics.thresholded import (
    SELECTION_THRESHOLD,
    F1Scores,
    MicroF1,
    ThresholdScores,
    micro_f1,
    paper_threshold,
)

__all__ = [
    "SELECTION_THRESHOLD",
    "F1Scores",
    "MicroF1",
    "RankingMetrics",
    "RankingScores",
    "Ranks",
    "ThresholdScores",
    "micro_f1",
    "paper_threshold",
    "precision_at_k",
    "rank_positives",
    "ranking_metrics",
    "select",
]
