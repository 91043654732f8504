import pytest
import torch

from gile_lightning.metrics import DocumentMetric, RankingMetrics
from gile_testing.own_metric import HitAt


def test_a_document_without_a_positive_counts_0_in_an_added_metric():
    """Of two documents one has its only label in the first place."""
    metric = RankingMetrics("released", added=[HitAt(1)])
    metric.update(torch.tensor([[2.0, 1.0]] * 2), torch.tensor([0]), torch.tensor([1, 0]))
    assert metric.compute()["hit_at_1"] == 0.5


def test_a_metric_is_computed():
    class Nothing(DocumentMetric):
        pass

    with pytest.raises(TypeError, match=r"abstract method '?__call__"):
        Nothing()
