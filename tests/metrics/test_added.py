"""A metric of one's own, with an argument, from the configuration to the page."""

import csv
import json

import pytest
import torch

from gile_lightning import evaluate, fit
from gile_lightning.common.errors import InputError
from gile_lightning.metrics import DocumentMetric
from gile_lightning.metrics.table import checked
from gile_lightning.search.settings import Search
from gile_lightning.training.checkpoint import STATE
from gile_testing import runs
from gile_testing.own_metric import HitAt

HIT = {"class_path": "gile_testing.own_metric.HitAt", "init_args": {"k": 3}}
ADDED = ("--model.metrics", json.dumps([HIT]))


@pytest.fixture(scope="module")
def run():
    return runs.trained(*ADDED, "--early_stopping.monitor", "val/hit_at_3")


def test_fit(run):
    with (run.output / "metrics.csv").open() as file:
        history = [float(row["val/hit_at_3"]) for row in csv.DictReader(file)]
    assert len(history) == 2
    assert run.metrics["val.hit_at_3"] == max(history)
    for labels in ("test.seen", "test.all", "reference.seen.by_popularity"):
        hit, precision = (run.metrics[f"{labels}.{x}"] for x in ("hit_at_3", "precision_at_3"))
        assert precision <= hit <= min(1, 3 * precision)
    header, *rows = run.printed[run.printed.index("labels  ") :].splitlines()
    assert header.split()[-1] == "hit@3"
    assert rows[1].split()[-1] == f"{100 * run.metrics['test.seen.hit_at_3']:.2f}"
    page = (run.output / "report.html").read_text()
    assert "hit@3</th>" in page.replace("\n", "")
    assert "hit@3 (validation, %)" in page


def test_checkpoint_and_evaluate(run):
    checkpoint = torch.load(run.best, weights_only=True)
    assert checkpoint["hyper_parameters"]["metrics"] == [HIT]
    assert "gile_testing.own_metric.HitAt" in checkpoint[STATE]["config"]
    found = runs.call(evaluate.main, "--checkpoint", run.best)
    assert found.result["test.seen.hit_at_3"] == run.metrics["test.seen.hit_at_3"]
    assert "hit@3" in found.printed


def test_another_metric_changes_none(run):
    """Two equal runs but for the metric that is added and watched."""
    plain = runs.reproducible(runs.trained().metrics)
    assert plain.items() <= runs.reproducible(run.metrics).items()


class Listed(DocumentMetric):
    """A metric that forgets to make a tensor."""

    name, heading = "listed", "listed"

    def __call__(self, ranks):
        return [0.0, 1.0, 0.0]


def test_what_is_no_tensor_is_refused():
    with pytest.raises(InputError, match=r"Listed must return a number per document, .* not list"):
        checked([Listed()])


def test_unknown_monitor_is_refused_before_any_work(tmp_path):
    wrong = "--early_stopping.monitor", "val/hit_at_4"
    found = runs.call(fit.main, *runs.arguments(tmp_path / "run", *ADDED, *wrong))
    assert found.status
    assert "'val/hit_at_4'; did you mean 'val/hit_at_3'?" in found.errors
    assert not (tmp_path / "run").exists()


def test_objectives_of_a_sweep():
    added = [HitAt(3)]
    search = Search(objectives={"val/german/hit_at_3": "maximize"})
    assert search.directions("val/f1", "max", ["english", "german"], added) == search.objectives
    with pytest.raises(InputError, match=r"sweep\.objectives is 'val/german/hit_at_3'"):
        search.directions("val/f1", "max", ["english", "german"])
    assert Search().directions("val/hit_at_3", "max", [], added) == {"val/hit_at_3": "maximize"}
    with pytest.raises(InputError, match=r"early_stopping\.monitor is 'val/hit_at_3'"):
        Search().directions("val/hit_at_3", "max", [])
