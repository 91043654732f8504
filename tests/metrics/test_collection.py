import copy
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss, ndcg_score

from gile_lightning.metrics import RankingMetrics, nam16_metrics

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


def test_skip_is_the_mean_over_documents_with_a_positive():
    scores, target = documents()
    some = target.any(1)
    actual = feed(RankingMetrics(), scores, target, [17])
    assert list(actual) == [*NAMES, "documents", "skipped"]
    assert actual == pytest.approx(scikit_learn(scores[some], target[some]), abs=1e-12)


def test_released_is_the_mean_over_all_documents():
    scores, target = documents()
    actual = feed(RankingMetrics(without_positive="released"), scores, target, [17])
    assert actual == pytest.approx(scikit_learn(scores, target), abs=1e-12)


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


def test_forward_reset_and_copies():
    scores, target = documents()
    metric = RankingMetrics(cutoffs=[3])
    first = metric(scores[:4], target[:4].nonzero()[:, 1], target[:4].sum(1))
    assert first["documents"] == 3
    expected = feed(metric, scores[4:], target[4:], [13])
    assert list(expected) == [
        *NAMES[:3],
        *("precision_at_3", "recall_at_3", "ndcg_at_3", "documents", "skipped"),
    ]
    assert expected["documents"] == 15
    assert values(copy.deepcopy(metric)) == expected
    assert values(pickle.loads(pickle.dumps(metric))) == expected
    metric.reset()
    assert feed(metric, scores, target, [17]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("without_positive", ["skip", "released"])
def test_no_document(without_positive):
    metric = RankingMetrics(without_positive=without_positive)
    nothing = {name: torch.nan for name in NAMES} | {"documents": 0, "skipped": 0}
    assert values(metric) == pytest.approx(nothing, nan_ok=True)  # warnings are errors here
    scores, target = documents()
    assert feed(metric, scores[:0], target[:0], [0]) == pytest.approx(nothing, nan_ok=True)


def test_only_documents_without_a_positive():
    lone = torch.zeros(4, 6), torch.zeros(4, 6, dtype=torch.bool)
    skip = feed(RankingMetrics(), *lone, [4])
    assert skip == pytest.approx(
        {name: torch.nan for name in NAMES} | {"documents": 0, "skipped": 4}, nan_ok=True
    )
    released = feed(RankingMetrics(without_positive="released"), *lone, [4])
    none = dict.fromkeys(AT, 0) | {"documents": 4, "skipped": 4}
    assert released == {"ranking_loss": 0, "average_precision": 1, "one_error": 1} | none


def test_further_metrics_without_a_positive():
    lone = torch.zeros(4, 12), torch.zeros(4, 12, dtype=torch.bool)
    further = [*NAM16, *PSP, "coverage_at_5"]
    for metric, expected in ((whole(), torch.nan), (whole("released"), 0)):
        found = feed(metric, *lone, [4])
        assert [found[name] for name in further] == pytest.approx([expected] * 7, nan_ok=True)


@pytest.mark.parametrize(
    "move",
    [
        lambda module: module.half(),
        lambda module: module.float(),
        lambda module: module.to(torch.bfloat16),
        lambda module: module.to("cpu", torch.float32),
    ],
)
def test_sums_stay_float64_when_the_module_changes_precision(move):
    scores, target = documents()
    module = torch.nn.ModuleDict({"layer": torch.nn.Linear(1, 1), "metric": RankingMetrics()})
    feed(module["metric"], scores[:9], target[:9], [9])
    move(module)
    assert module["metric"].totals.dtype == torch.float64
    feed(module["metric"], scores[9:], target[9:], [8])
    move(module)
    expected = feed(RankingMetrics(), scores, target, [17])
    assert values(module["metric"]) == pytest.approx(expected, abs=1e-12)
    module["metric"].reset()
    assert module["metric"].totals.dtype == torch.float64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cutoffs": [0]}, r"at least 1, not \[0\]"),
        ({"cutoffs": [5, 5]}, r"distinct numbers of at least 1, not \[5, 5\]"),
        ({"without_positive": "zero"}, "must be 'skip' or 'released', not 'zero'"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        RankingMetrics(**arguments)


WORKER = """
import json, sys, torch
from gile_lightning.metrics import RankingMetrics

store, data, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.distributed.init_process_group("gloo", f"file://{store}", rank=rank, world_size=2)
scores, target = torch.load(data)
results = []
for start, sizes in ((5, ([4, 1], [2, 10])), (17, ([17], []))):  # uneven, then all in process 0
    mine = slice(start) if rank == 0 else slice(start, None)
    for without_positive in ("skip", "released"):
        metric = RankingMetrics(
            without_positive=without_positive, labels=12, nam16=True,
            inverse_propensities=torch.linspace(1, 4, 12, dtype=torch.float64),
        )
        if sizes[rank]:
            for s, t in zip(scores[mine].split(sizes[rank]), target[mine].split(sizes[rank])):
                metric.update(s, t.nonzero()[:, 1], t.sum(1))
        results.append({name: value.item() for name, value in metric.compute().items()})
torch.distributed.destroy_process_group()
print(json.dumps(results))
"""


def test_two_processes_equal_one(tmp_path):
    scores, target = documents()
    torch.save((scores, target), tmp_path / "data.pt")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WORKER, str(tmp_path / "store"), str(tmp_path / "data.pt")]
    workers = [
        subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, env=environment)
        for rank in range(2)
    ]
    try:
        outputs = [worker.communicate(timeout=120)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    assert [worker.returncode for worker in workers] == [0, 0]
    some, further = target.any(1), more(scores, target)
    skip = scikit_learn(scores[some], target[some]) | further
    released = scikit_learn(scores, target) | further
    for output in outputs:
        uneven_skip, uneven_released, lone_skip, lone_released = json.loads(output)
        for actual in (uneven_skip, lone_skip):
            assert actual == pytest.approx(skip, abs=1e-12)
            one = feed(whole(), scores, target, [17])
            assert actual == pytest.approx(one, abs=1e-12)
        for actual in (uneven_released, lone_released):
            assert actual == pytest.approx(released, abs=1e-12)
