import copy
import json
import os
import pickle
import subprocess
import sys

import pytest
import torch
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss

from gile_lightning.metrics import RankingMetrics

NAMES = ["ranking_loss", "average_precision", "one_error", "precision_at_1", "precision_at_5"]


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
    best = target.gather(1, scores.argsort(dim=1, descending=True, stable=True)).double()
    return {
        "ranking_loss": label_ranking_loss(target.numpy(), scores.numpy()),
        "average_precision": label_ranking_average_precision_score(target.numpy(), scores.numpy()),
        "one_error": 1 - best[:, 0].mean().item(),
        "precision_at_1": best[:, 0].mean().item(),
        "precision_at_5": best[:, :5].mean().item(),
        "documents": len(target),
        "skipped": 2,
    }


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
def test_uneven_batches_equal_one_batch(without_positive):
    scores, target = documents()
    one = feed(RankingMetrics(without_positive=without_positive), scores, target, [17])
    for sizes in ([3, 1, 6, 7], [0, 16, 1]):
        metric = RankingMetrics(without_positive=without_positive)
        assert feed(metric, scores, target, sizes) == pytest.approx(one, abs=1e-12)


def test_forward_reset_and_copies():
    scores, target = documents()
    metric = RankingMetrics(precision_at=[3])
    first = metric(scores[:4], target[:4].nonzero()[:, 1], target[:4].sum(1))
    assert first["documents"] == 3
    expected = feed(metric, scores[4:], target[4:], [13])
    assert list(expected) == [*NAMES[:3], "precision_at_3", "documents", "skipped"]
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
    assert released == dict(zip(NAMES, [0, 1, 1, 0, 0], strict=True)) | {
        "documents": 4,
        "skipped": 4,
    }


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
        ({"precision_at": [0]}, r"at least 1, not \[0\]"),
        ({"precision_at": [5, 5]}, r"distinct numbers of at least 1, not \[5, 5\]"),
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
        metric = RankingMetrics(without_positive=without_positive)
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
    some = target.any(1)
    for output in outputs:
        uneven_skip, uneven_released, lone_skip, lone_released = json.loads(output)
        for actual in (uneven_skip, lone_skip):
            assert actual == pytest.approx(scikit_learn(scores[some], target[some]), abs=1e-12)
            one = feed(RankingMetrics(), scores, target, [17])
            assert actual == pytest.approx(one, abs=1e-12)
        for actual in (uneven_released, lone_released):
            assert actual == pytest.approx(scikit_learn(scores, target), abs=1e-12)
