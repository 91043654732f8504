import numpy as np
import pytest
import torch
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss, ndcg_score

from gile_lightning.metrics import RankingMetrics, nam16_metrics
from gile_testing.own_metric import HitAt

AT = [f"{kind}_at_{k}" for kind in ("precision", "recall", "ndcg") for k in (1, 3, 5)]
NAMES = ["ranking_loss", "average_precision", "one_error", *AT]
NAM16 = ["nam16_ranking_loss", "nam16_average_precision", "nam16_one_error"]
PSP = ["psp_at_1", "psp_at_3", "psp_at_5"]
WEIGHTS = torch.linspace(1, 4, 12, dtype=torch.float64)


def documents():
    """Scores with ties and a target matrix; documents 3 and 10 have no positive."""
    generator = torch.Generator().manual_seed(5)
    target = torch.rand(17, 12, generator=generator) < 0.25
    target[:, 0] = True
    target[[3, 10]] = False
    return torch.randint(0, 6, target.shape, generator=generator).float(), target


def feed(metric, scores, target, sizes):
    for s, t in zip(scores.split(sizes), target.split(sizes), strict=True):
        metric.update(s, t.nonzero()[:, 1], t.sum(1))
    return values(metric)


def values(metric):
    return {name: value.item() for name, value in metric.compute().items()}


def scikit_learn(scores, target):
    """Means over the documents given, in scikit-learn's convention for those without positive."""
    scores = scores.double()  # it computes in the type of the scores
    order = scores.argsort(dim=1, descending=True, stable=True)
    best, places = target.gather(1, order).double(), -order.argsort(dim=1)
    counts = target.sum(1).clamp(min=1)
    return {
        "ranking_loss": label_ranking_loss(target.numpy(), scores.numpy()),
        "average_precision": label_ranking_average_precision_score(target.numpy(), scores.numpy()),
        "one_error": 1 - best[:, 0].mean().item(),
        **{f"precision_at_{k}": best[:, :k].mean().item() for k in (1, 3, 5)},
        **{f"recall_at_{k}": (best[:, :k].sum(1) / counts).mean().item() for k in (1, 3, 5)},
        # places instead of tied scores, as scikit-learn takes the first column last
        **{f"ndcg_at_{k}": ndcg_score(target.numpy(), places.numpy(), k=k) for k in (1, 3, 5)},
        "documents": len(target),
        "skipped": 2,
    }


def more(scores, target):
    """Nam et al.'s metrics, propensity-scored precision and label coverage, with NumPy."""
    some = target.any(1)
    kept, truth = scores[some], target[some]
    nam16 = nam16_metrics(kept, truth.nonzero()[:, 1], truth.sum(1))
    order = np.argsort(-kept.numpy(), axis=1, kind="stable")
    truth = truth.numpy()
    weighted = truth * WEIGHTS.numpy()
    best_first, heaviest = np.take_along_axis(weighted, order, 1), -np.sort(-weighted, 1)
    found = {name: values.mean().item() for name, values in zip(NAM16, nam16, strict=True)}
    for name, k in zip(PSP, (1, 3, 5), strict=True):
        found[name] = best_first[:, :k].mean() / heaviest[:, :k].mean()
    covered = {x for row, top in zip(truth, order[:, :5], strict=True) for x in top if row[x]}
    return found | {"coverage_at_5": len(covered) / truth.any(0).sum()}


def whole(without_positive="skip"):
    """Return a metric with all that it can have."""
    return RankingMetrics(
        without_positive=without_positive, labels=12, inverse_propensities=WEIGHTS, nam16=True
    )


def test_means_over_documents_with_a_positive_and_over_all():
    scores, target = documents()
    some = target.any(1)
    skip = feed(RankingMetrics(), scores, target, [17])
    assert list(skip) == [*NAMES, "documents", "skipped"]
    assert skip == pytest.approx(scikit_learn(scores[some], target[some]), abs=1e-12)
    released = feed(RankingMetrics(without_positive="released"), scores, target, [17])
    assert released == pytest.approx(scikit_learn(scores, target), abs=1e-12)


@pytest.mark.parametrize("without_positive", ["skip", "released"])
def test_further_metrics(without_positive):
    """A document without a positive changes none of them."""
    scores, target = documents()
    target[:, 4] = False  # a label that no document has
    actual = feed(whole(without_positive), scores - 2.5, target, [17])
    assert list(actual) == [*NAMES, *NAM16, *PSP, "coverage_at_5", "documents", "skipped"]
    expected = more(scores - 2.5, target)
    assert 0 < expected["coverage_at_5"] < 1
    assert {name: actual[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    plain = feed(RankingMetrics(without_positive=without_positive), scores - 2.5, target, [17])
    assert {name: actual[name] for name in plain} == plain


@pytest.mark.parametrize("without_positive", ["skip", "released"])
def test_uneven_batches_equal_one_batch(without_positive):
    scores, target = documents()
    one = feed(whole(without_positive), scores, target, [17])
    for sizes in ([3, 1, 6, 7], [0, 16, 1], [1] * 17):
        metric = whole(without_positive)
        assert feed(metric, scores, target, sizes) == pytest.approx(one, abs=1e-12)
        assert metric.covered.shape == (2, 12)
        assert metric.totals.shape == (2 + 12 + 3 + 6,)  # whatever the documents


@pytest.mark.parametrize("labels", [0, 12])
def test_processes_exchange_no_state_without_numbers(labels):
    states = RankingMetrics(labels=labels).metric_state
    assert ("covered" in states) == bool(labels)
    assert all(state.numel() for state in states.values())


def test_no_document():
    metric = whole()
    nothing = dict.fromkeys([*NAMES, *NAM16, *PSP, "coverage_at_5"], torch.nan)
    nothing |= {"documents": 0, "skipped": 0}
    assert values(metric) == pytest.approx(nothing, nan_ok=True)  # warnings are errors here
    scores, target = documents()
    assert feed(metric, scores[:0], target[:0], [0]) == pytest.approx(nothing, nan_ok=True)


def test_only_documents_without_a_positive():
    lone = torch.zeros(4, 12), torch.zeros(4, 12, dtype=torch.bool)
    further = [*NAM16, *PSP, "coverage_at_5"]
    skip = dict.fromkeys([*NAMES, *further], torch.nan) | {"documents": 0, "skipped": 4}
    assert feed(whole(), *lone, [4]) == pytest.approx(skip, nan_ok=True)
    released = dict.fromkeys([*NAMES, *further], 0) | {"documents": 4, "skipped": 4}
    released |= {"average_precision": 1, "one_error": 1}
    assert feed(whole("released"), *lone, [4]) == released


def test_added_metric():
    """Its mean is its own, and it changes no other by a digit."""
    scores, target = documents()
    for without_positive in ("skip", "released"):
        plain = feed(whole(without_positive), scores, target, [6, 11])
        metric = RankingMetrics(
            without_positive, labels=12, inverse_propensities=WEIGHTS, nam16=True, added=[HitAt(2)]
        )
        actual = feed(metric, scores, target, [6, 11])
        best = scores.argsort(dim=1, descending=True, stable=True)[:, :2]
        hit = target.gather(1, best).any(1).sum().item() / plain["documents"]
        assert actual.pop("hit_at_2") == pytest.approx(hit, abs=1e-12)
        assert actual == plain


def test_unknown_treatment_of_documents_without_a_positive():
    with pytest.raises(ValueError, match="must be 'skip' or 'released', not 'zero'"):
        RankingMetrics(without_positive="zero")
