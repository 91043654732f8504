"""Three documents and five labels, of which two are unseen; the numbers are worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.metrics.evaluation import BUCKETS, CANDIDATES, REFERENCES, Evaluation
from gile_lightning.metrics.references import random_scores
from gile_testing import runs
from gile_testing.own_metric import LARGE, HitAt, as_batch, fed, many

LABELS = LabelSet(list("abcde"), list("abcde"), [4, 3, 1, 0, 0])
LOGITS = torch.tensor(
    [
        [-2.0, 2.0, 1.0, -1.0, 3.0],
        [-1.0, 1.0, -3.0, 0.5, 1.5],
        [1.0, -1.0, -2.0, -2.0, 2.0],
    ]
)
POSITIVES = [[1, 4], [3], [1]]


KEYS = ("ranking_loss", "average_precision", "one_error", "precision_at_1", "precision_at_5")


def ranking(loss, precision, error, first, five, documents, skipped):
    """Name the scores as `RankingMetrics` does."""
    scores = dict(zip(KEYS, (loss, precision, error, first, five), strict=True))
    return {**scores, "documents": documents, "skipped": skipped}


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
    """Compare what is expected; further metrics have tests of their own below."""
    assert {key: actual[key] for key in expected} == pytest.approx(expected, abs=1e-12, nan_ok=True)


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
    expected = runs.ranking_scores(chance, targets)
    same(found["unseen, at random"], {key: expected[key] for key in KEYS[:4]} | {KEYS[4]: 0.2})


ALL_SEEN = LabelSet(LABELS.names, LABELS.texts, [5, 4, 3, 2, 1])


@pytest.mark.parametrize(
    ("scores_unseen", "labels", "seen"), [(False, LABELS, SEEN), (True, ALL_SEEN, ALL)]
)
def test_no_unseen_labels_to_score(scores_unseen, labels, seen):
    evaluation = evaluated(scores_unseen, labels=labels)
    found = evaluation.compute()
    same(found["seen"], seen)
    for key in CANDIDATES[2:]:
        same(found[key], NOTHING)
    assert not evaluation.scores_unseen
    many_seen = LabelSet([f"l{i}" for i in range(300)], ["text"] * 300, [1] * 300)
    assert not Evaluation(many_seen, True).scores_unseen


def test_each_set_counts_its_own_labels():
    evaluation = Evaluation(LARGE, True)
    for key, (start, stop) in SPANS.items():
        assert evaluation.rankings[key].covered.shape == (2, stop - start)


def test_released_counts_documents_without_a_label():
    """As ranked without error, but with a wrong label on top: ranking loss 0, precision 1."""
    found = evaluated(without_positive="released").compute()
    same(found["seen"], ranking(1 / 6, 5 / 6, 2 / 3, 1 / 3, 2 / 15, 3, 1))
    same(found["all"], ALL)


# --- micro-F1 ---


@pytest.mark.parametrize(
    ("scores_unseen", "threshold", "expected"),
    [
        (True, 0.5, (3 / 8, 3 / 4, 1 / 2)),  # predicted: b c e, b d e, a e
        (True, 0.2, (4 / 11, 1, 8 / 15)),  # above a logit of -1.386: b c d e, a b d e, a b e
        # of the four labels of the documents two cannot be scored: b c, b, a; b c, a b, a b
        (False, 0.5, (1 / 4, 1 / 4, 1 / 4)),
        (False, 0.2, (1 / 3, 1 / 2, 2 / 5)),
    ],
)
def test_micro_f1_is_over_all_labels(scores_unseen, threshold, expected):
    found = micro(evaluated(scores_unseen), threshold)
    assert found == pytest.approx(dict(zip(("precision", "recall", "f1"), expected, strict=True)))


def test_threshold_of_ones_own():
    evaluation = evaluated(threshold=0.735)  # a logit of 1.02: b e, e, e
    same(micro(evaluation, 0.735), {"precision": 1 / 2, "recall": 1 / 2, "f1": 1 / 2})
    assert len(evaluation.micro.thresholds) == 100


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


# --- metrics over labels, and sets of labels by training frequency ---


SPANS = {
    "seen": (0, 50),
    "unseen": (50, 60),
    "all": (0, 60),
    "above 50 documents": (0, 2),
    "6 to 50 documents": (2, 10),
    "1 to 5 documents": (10, 50),
}


def over_labels(logits, target, threshold, start, stop):
    """Macro F1 by scikit-learn, and coverage and PSP in NumPy, of the labels start..stop-1."""
    values, truth = logits[:, start:stop].numpy(), target[:, start:stop].numpy()
    frequencies = np.array(LARGE.frequencies[start:stop])
    weights = 1 + (np.log(2000) - 1) * 2.5**0.55 * (frequencies + 1.5) ** -0.55
    labels = truth.any(0).nonzero()[0].tolist()
    predicted = logits[:, start:stop].sigmoid().numpy() > np.float32(threshold)
    f1 = f1_score(truth, predicted, labels=labels, average="macro", zero_division=0)
    order = np.argsort(-values, axis=1, kind="stable")
    covered = {x for row, top in zip(truth, order[:, :5], strict=True) for x in top if row[x]}
    weighted = truth * weights
    gained = np.take_along_axis(weighted, order, 1)[:, :5].sum()
    attainable = np.sort(weighted, 1)[:, -5:].sum()
    return {
        "macro_f1": f1,
        "coverage_at_5": len(covered) / len(labels),
        "psp_at_5": gained / attainable,
    }


# for fewer than 400 labels the paper's threshold is 0.4
@pytest.mark.parametrize("threshold", [None, 0.15])
@pytest.mark.parametrize("sizes", [[40], [7, 0, 33], 1], ids=str)
def test_sets_by_frequency_and_metrics_over_labels(sizes, threshold):
    logits, target = many()
    evaluation = fed(logits, target, sizes, threshold=threshold, added=[HitAt(1)])
    found = evaluation.compute()
    assert tuple(found) == CANDIDATES
    for key, (start, stop) in SPANS.items():
        truth = target[:, start:stop]
        expected = runs.ranking_scores(logits[:, start:stop].numpy(), truth.numpy())
        same(found[key], {name: expected[name] for name in (*KEYS[:4], "documents", "skipped")})
        same(found[key], over_labels(logits, target, threshold or 0.4, start, stop))
        assert found[key]["hit_at_1"] == pytest.approx(expected["precision_at_1"])


def test_probabilities_of_another_link():
    """The ranking is that of the logits, what is predicted that of the log-odds."""
    logits, target = many()
    log_odds = logits.log_softmax(1).double()
    log_odds = (log_odds - torch.log1p(-log_odds.exp())).float()
    with_odds, by_logits, by_odds = (Evaluation(LARGE, True, threshold=0.05) for _ in range(3))
    with_odds.update(logits, as_batch(target), log_odds)
    by_logits.update(logits, as_batch(target))
    by_odds.update(log_odds, as_batch(target))
    f1 = f1_score(target, logits.softmax(1) > 0.05, average="micro")
    assert float(with_odds.micro.compute().at(0.05)["f1"]) == pytest.approx(f1)
    for key, found in with_odds.compute().items():
        if "macro_f1" in found:
            assert found.pop("macro_f1") == by_odds.compute()[key]["macro_f1"]
        same(found, {name: by_logits.compute()[key][name] for name in found})


def test_references_have_no_macro_f1():
    found = fed(*many(), 40, nam16=True).compute()
    for key, scores in found.items():
        assert ("macro_f1" in scores) == (key not in REFERENCES)
        assert ("nam16_one_error" in scores) == (key not in REFERENCES)
        assert {"coverage_at_5", "psp_at_1", "psp_at_3", "ndcg_at_5", "recall_at_3"} <= set(scores)
    # the five commonest labels are all that popularity ranks among the best
    occurring = many()[1][:, :50].any(0)
    covered = float(occurring[:5].sum() / occurring.sum())
    same(found["seen, by popularity"], {"coverage_at_5": pytest.approx(covered)})


def test_unknown_number_of_training_documents():
    """No propensities, and no sets by frequencies that may be made up."""
    logits, target = many()
    labels = LabelSet(LARGE.names, LARGE.texts, LARGE.frequencies)
    evaluation = Evaluation(labels, True)
    evaluation.update(logits, as_batch(target))
    found = evaluation.compute()
    assert not any(name.startswith("psp") for scores in found.values() for name in scores)
    assert [found[key]["documents"] for key in BUCKETS] == [0, 0, 0]
    expected = over_labels(logits, target, 0.4, 0, 60)
    del expected["psp_at_5"]
    same(found["all"], expected)


def test_set_without_a_label():
    labels = LabelSet(LABELS.names, LABELS.texts, [4, 3, 1, 0, 0], 5)
    found = evaluated(labels=labels).compute()
    same(found["1 to 5 documents"], SEEN)
    for key in ("6 to 50 documents", "above 50 documents"):
        same(found[key], NOTHING)
        assert np.isnan([found[key][name] for name in ("macro_f1", "psp_at_5")]).all()


def test_released_has_numbers_for_labels_that_no_document_has():
    """They go to JSON, which has no NaN."""
    logits, target = many()
    target[:, :10] = False
    found = fed(logits, target, 40, without_positive="released", nam16=True).compute()
    for key in ("above 50 documents", "6 to 50 documents"):
        assert found[key]["documents"] == 40
        assert found[key]["macro_f1"] == found[key]["psp_at_5"] == found[key]["coverage_at_5"] == 0
    assert np.isfinite([value for scores in found.values() for value in scores.values()]).all()


def test_metrics_stay_on_the_cpu_where_the_model_is_on_mps():
    """Which has no float64."""

    def to_mps(tensor):
        if tensor.dtype == torch.float64:
            raise TypeError("MPS has no float64")
        return SimpleNamespace(device=torch.device("mps"))

    evaluation = Evaluation(LABELS, True)._apply(to_mps)
    assert evaluation.micro.device.type == "cpu"
    evaluation.update(LOGITS, batch((0, 1, 2)))
    assert evaluation.compute()["all"]["average_precision"] == pytest.approx(5 / 9)
