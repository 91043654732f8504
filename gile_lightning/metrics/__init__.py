"""Ranking metrics for large label sets, and F1 at a threshold."""

from gile_lightning.metrics.at_cutoff import AtCutoff, NdcgAt, PrecisionAt, RecallAt
from gile_lightning.metrics.collection import RankingMetrics
from gile_lightning.metrics.document_metric import DocumentMetric
from gile_lightning.metrics.functional import RankingScores, precision_at_k, ranking_metrics
from gile_lightning.metrics.nam16 import Nam16Scores, nam16_metrics
from gile_lightning.metrics.per_label import LabelF1
from gile_lightning.metrics.propensity import inverse_propensities
from gile_lightning.metrics.ranking import rank_positives, select
from gile_lightning.metrics.ranks import Ranks
from gile_lightning.metrics.thresholded import (
    SELECTION_THRESHOLD,
    F1Scores,
    MicroF1,
    ThresholdScores,
    micro_f1,
    paper_threshold,
)
from gile_lightning.metrics.whole_ranking import AveragePrecision, OneError, RankingLoss

__all__ = [
    "SELECTION_THRESHOLD",
    "AtCutoff",
    "AveragePrecision",
    "DocumentMetric",
    "F1Scores",
    "LabelF1",
    "MicroF1",
    "Nam16Scores",
    "NdcgAt",
    "OneError",
    "PrecisionAt",
    "RankingLoss",
    "RankingMetrics",
    "RankingScores",
    "Ranks",
    "RecallAt",
    "ThresholdScores",
    "inverse_propensities",
    "micro_f1",
    "nam16_metrics",
    "paper_threshold",
    "precision_at_k",
    "rank_positives",
    "ranking_metrics",
    "select",
]
