from types import SimpleNamespace

import pytest
import torch

from gile_lightning.metrics.document_scores import DocumentScores
from gile_lightning.metrics.whole_ranking import AveragePrecision, OneError

LABELS = SimpleNamespace(names=["a", "b", "c", "d", "e"])
SETS = {"seen": (0, 3), "seen, by popularity": (0, 3), "unseen": (3, 5), "all": (0, 5)}
# the ranking is c a b | e d; that of all is c e a d b
LOGITS = torch.tensor([[0.2, -0.5, 0.9, 0.1, 0.4]])


def scored(sets):
    metrics = [AveragePrecision(), OneError()]
    observer = DocumentScores(LABELS, SimpleNamespace(columns=sets), metrics)
    for own in ([1, 3], [0], []):
        ids = torch.tensor(own, dtype=torch.long)
        observer.update(
            LOGITS, SimpleNamespace(label_ids=ids, label_counts=torch.tensor([len(own)]))
        )
    return observer.result()


def test_every_document_by_hand():
    found = scored(SETS)
    assert found.gold == [{"b", "d"}, {"a"}, set()]
    assert found.candidates == {"seen": {*"abc"}, "unseen": {*"de"}, "all": {*"abcde"}}
    nan = float("nan")
    expected = {
        "seen": ([1 / 3, 1 / 2, nan], [1, 1, nan]),
        "unseen": ([1 / 2, nan, nan], [1, nan, nan]),
        "all": ([(1 / 4 + 2 / 5) / 2, 1 / 3, nan], [1, 1, nan]),
    }
    assert found.metrics.keys() == expected.keys()
    for key, values in expected.items():
        of_set = found.metrics[key].values()
        for metric, numbers in zip(of_set, values, strict=True):
            assert metric.tolist() == pytest.approx(numbers, nan_ok=True)
    assert found.labels == {"b": [2 / 5], "d": [1 / 4], "a": [1 / 3]}


def test_labels_of_a_model_that_scores_seen_ones_alone():
    found = scored({"seen": (0, 3)})
    assert found.labels == {"b": [1 / 3], "a": [1 / 2]}


def test_labels_of_a_set_that_begins_later():
    """The columns of a set are numbered from its first label."""
    assert scored({"all": (2, 5)}).labels == {"d": [1 / 3]}
