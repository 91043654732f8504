from types import SimpleNamespace

import torch
from torch import distributed

from gile_lightning.metrics.document_scores import (
    DocumentScores,
    LabelPrecisions,
    gold_numbers,
    label_hashes,
)

LABELS = SimpleNamespace(names=["a", "b", "c", "d", "e"])
# the ranking is c e a d b; that of the first three c a b
LOGITS = torch.tensor([[0.2, -0.5, 0.9, 0.1, 0.4]])


def documents(*own):
    ids = torch.tensor([i for some in own for i in some], dtype=torch.long)
    return SimpleNamespace(label_ids=ids, label_counts=torch.tensor([len(x) for x in own]))


def precisions(start, stop):
    observer = LabelPrecisions(LABELS, start, stop)
    for own in ([1, 3], [0], []):
        observer.update(LOGITS, documents(own))
    return observer


def test_labels_by_hand():
    found = precisions(0, 5)
    assert found.gold == [{"b", "d"}, {"a"}, set()]
    assert found.precisions == {"b": [2 / 5], "d": [1 / 4], "a": [1 / 3]}


def test_labels_of_a_model_that_scores_seen_ones_alone():
    assert precisions(0, 3).precisions == {"b": [1 / 3], "a": [1 / 2]}


def test_labels_of_a_set_that_begins_later():
    """The columns of a set are numbered from its first label."""
    assert precisions(2, 5).precisions == {"d": [1 / 3]}


def test_documents_are_known_by_the_names_of_their_labels():
    numbers = gold_numbers(label_hashes(LABELS.names), documents([1, 3], [0], [], [3, 1], [1]))
    assert numbers[0] == numbers[3]
    assert numbers[2] == 0
    assert len(set(numbers.tolist())) == 4
    # other ids of the same names, as in a model with another label set
    others = gold_numbers(label_hashes(["d", "b", "a"]), documents([0, 1], [2]))
    assert others.tolist() == numbers[:2].tolist()


def test_processes_gather_their_documents(monkeypatch):
    def terms(*values):
        return torch.tensor([[value, 1.0] for value in values])

    empty = torch.zeros(0, dtype=torch.long)
    first = DocumentScores(torch.tensor([0, 2]), torch.tensor([7, 8]), {"seen": {"p": terms(1, 2)}})
    none = DocumentScores(empty, empty, {})
    third = DocumentScores(torch.tensor([1]), torch.tensor([9]), {"seen": {"p": terms(3)}})

    def gather(found, own):
        assert own is none
        found[:] = [first, none, third]

    monkeypatch.setattr(distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed, "get_world_size", lambda: 3)
    monkeypatch.setattr(distributed, "all_gather_object", gather)
    found = none.gathered()
    assert found.rows.tolist() == [0, 1, 2]  # as in the corpus, however it was cut
    assert found.gold.tolist() == [7, 9, 8]
    assert found.terms["seen"]["p"].tolist() == [[1, 1], [3, 1], [2, 1]]
