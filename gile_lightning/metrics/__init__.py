"""Ranking metrics for large label sets."""

from gile_lightning.metrics.collection import RankingMetrics
from gile_lightning.metrics.ranking import (
    RankingScores,
    Ranks,
    precision_at_k,
    rank_positives,
    ranking_metrics,
    select,
)

__all__ = [
    "RankingMetrics",
    "RankingScores",
    "Ranks",
    "precision_at_k",
    "rank_positives",
    "ranking_metrics",
    "select",
]
