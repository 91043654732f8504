"""Three documents and five labels, of which two are unseen; the numbers are worked out by hand."""

import pytest
import runs
import torch

from gile_lightning.data.labels import LabelSet
from gile_lightning.data.ragged import RaggedBatch
from gile_lightning.errors import InputError
from gile_lightning.metrics.evaluation import CANDIDATES, Evaluation
from gile_lightning.metrics.references import random_scores

LABELS = LabelSet(list("abcde"), list("abcde"), [4, 3, 1, 0, 0])
LOGITS = torch.tensor(
    [
        [-2.0, 2.0, 1.0, -1.0, 3.0],
        [-1.0, 1.0, -3.0, 0.5, 1.5],
        [1.0, -1.0, -2.0, -2.0, 2.0],
    ]
)
POSITIVES = [[1, 4], [3], [1]]


def ranking(loss, precision, error, first, five, documents, skipped):
    """Name the scores as `RankingMetrics` does."""
    return {
        "ranking_loss": loss,
        "average_precision": precision,
        "one_error": error,
        "precision_at_1": first,
        "precision_at_5": five,
        "documents": documents,
        "skipped": skipped,
    }


# document 0 is ranked rightly, document 2 has one of two negatives on top; by popularity both have
SEEN = ranking(1 / 4, 3 / 4, 1 / 2, 1 / 2, 1 / 5, 2, 1)
POPULARITY = ranking(1 / 2, 1 / 2, 1, 0, 1 / 5, 2, 1)
# document 0 right, document 1 wrong, document 2 has no unseen label
UNSEEN = ranking(1 / 2, 3 / 4, 1 / 2, 1 / 2, 1 / 5, 2, 1)
# precision 1, 1/3 and 1/3; two of four negatives are above the labels of documents 1 and 2
ALL = ranking(1 / 3, 5 / 9, 2 / 3, 1 / 3, 4 / 15, 3, 0)
NOTHING = ranking(*[float("nan")] * 5, 0, 0)


def batch(documents):
    """Return a batch of these of the three documents, each of three words of its own."""
    labels = [POSITIVES[i] for i in documents]
    words = torch.tensor([[10 * i, 10 * i + 1, 7] for i in documents]).flatten()
    ones = torch.ones(len(documents), dtype=torch.long)
    ids = torch.tensor([label for row in labels for label in row], dtype=torch.long)
    return RaggedBatch(words, 3 * ones, ones, ids, torch.tensor([len(row) for row in labels]))


def evaluated(scores_unseen=True, batches=((0, 1, 2),), labels=LABELS, **settings):
    evaluation = Evaluation(labels, scores_unseen, **settings)
    columns = len(labels) if scores_unseen else labels.seen
    for documents in batches:
        evaluation.update(LOGITS[list(documents), :columns], batch(documents))
    return evaluation


def micro(evaluation, threshold):
    return {key: float(value) for key, value in evaluation.micro.compute().at(threshold).items()}


def same(actual, expected):
    assert actual == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("batches", [[(0, 1, 2)], [(0,), (1, 2)], [(2, 0), (1,)]], ids=str)
def test_every_candidate_set(batches):
    found = evaluated(batches=batches).compute()
    assert tuple(found) == CANDIDATES
    same(found["seen"], SEEN)
    same(found["seen, by popularity"], POPULARITY)
    same(found["unseen"], UNSEEN)
    same(found["all"], ALL)
    chance = random_scores(batch((0, 1, 2)), 2).numpy()
    targets = runs.positives(POSITIVES, [3, 4])
    # precision at 5 of two labels: one right of five places
    same(found["unseen, at random"], runs.ranking_scores(chance, targets) | {"precision_at_5": 0.2})


def test_some_candidate_sets():
    found = evaluated(candidates=CANDIDATES[:2]).compute()
    assert list(found) == ["seen", "seen, by popularity"]
    same(found["seen"], SEEN)


def test_labels_that_cannot_be_scored():
    evaluation = evaluated(scores_unseen=False)
    found = evaluation.compute()
    same(found["seen"], SEEN)
    same(found["seen, by popularity"], POPULARITY)
    for key in CANDIDATES[2:]:
        same(found[key], NOTHING)
    assert not evaluation.scores_unseen


def test_no_unseen_labels():
    seen = LabelSet(LABELS.names, LABELS.texts, [5, 4, 3, 2, 1])
    found = evaluated(labels=seen).compute()
    same(found["seen"], ALL)
    for key in CANDIDATES[2:]:
        same(found[key], NOTHING)


def test_released_counts_documents_without_a_label():
    """As ranked without error, but with a wrong label on top: ranking loss 0, precision 1."""
    found = evaluated(without_positive="released").compute()
    same(found["seen"], ranking(1 / 6, 5 / 6, 2 / 3, 1 / 3, 2 / 15, 3, 1))
    same(found["all"], ALL)


# --- micro-F1 ---


def test_micro_f1_is_over_all_labels():
    evaluation = evaluated()
    # predicted: b c e, b d e, a e
    same(micro(evaluation, 0.5), {"precision": 3 / 8, "recall": 3 / 4, "f1": 1 / 2})
    # above a logit of -1.386: b c d e, a b d e, a b e
    same(micro(evaluation, 0.2), {"precision": 4 / 11, "recall": 1, "f1": 8 / 15})


def test_labels_that_cannot_be_scored_are_misses():
    evaluation = evaluated(scores_unseen=False)
    # predicted: b c, b, a; of the four labels of the documents two cannot be
    same(micro(evaluation, 0.5), {"precision": 1 / 4, "recall": 1 / 4, "f1": 1 / 4})
    # b c, a b, a b
    same(micro(evaluation, 0.2), {"precision": 1 / 3, "recall": 1 / 2, "f1": 2 / 5})


def test_threshold_of_ones_own():
    evaluation = evaluated(threshold=0.735)  # a logit of 1.02: b e, e, e
    same(micro(evaluation, 0.735), {"precision": 1 / 2, "recall": 1 / 2, "f1": 1 / 2})
    assert len(evaluation.micro.thresholds) == 100
    for threshold in (0.3, 0.07, 1 - 0.93, None):
        assert len(Evaluation(LABELS, True, threshold=threshold).micro.thresholds) == 99


@pytest.mark.parametrize(("threshold", "remedy"), [(0.3001, "0.3"), (0.0699, "0.07")])
def test_threshold_too_close_to_another(threshold, remedy):
    with pytest.raises(InputError, match=f"threshold is {threshold}: give {remedy}, or"):
        Evaluation(LABELS, True, threshold=threshold)


def test_reset():
    evaluation = evaluated()
    evaluation.reset()
    for scores in evaluation.compute().values():
        same(scores, NOTHING)
    same(micro(evaluation, 0.5), dict.fromkeys(("precision", "recall", "f1"), 0))
    evaluation.update(LOGITS, batch((0, 1, 2)))
    same(evaluation.compute()["all"], ALL)
    same(micro(evaluation, 0.5), {"precision": 3 / 8, "recall": 3 / 4, "f1": 1 / 2})
