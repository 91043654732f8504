"""What all metrics of sums have in common."""

import copy
import pickle

import pytest
import torch

from gile_lightning.metrics import LabelF1, MicroF1, RankingMetrics

METRICS = [RankingMetrics, MicroF1, lambda: LabelF1(12, 0.4)]
MOVES = [
    lambda module: module.half(),
    lambda module: module.float(),
    lambda module: module.to(torch.bfloat16),
    lambda module: module.to("cpu", torch.float32),
]


def feed(metric, rows=slice(None)):
    generator = torch.Generator().manual_seed(5)
    target = torch.rand(17, 12, generator=generator) < 0.25
    scores = torch.randint(-3, 3, target.shape, generator=generator).float()[rows]
    target = target[rows]
    metric.update(scores, target.nonzero()[:, 1], target.sum(1))
    return metric


def state(metric):
    return {name: value.clone() for name, value in metric.metric_state.items()}


@pytest.mark.parametrize("make", METRICS)
@pytest.mark.parametrize("move", MOVES)
def test_sums_stay_what_they_are_when_the_module_changes_precision(make, move):
    metric, whole = make(), feed(make())
    module = torch.nn.ModuleDict({"layer": torch.nn.Linear(1, 1), "metric": metric})
    feed(metric, slice(9))
    move(module)
    feed(metric, slice(9, None))
    move(module)
    torch.testing.assert_close(state(metric), state(whole), rtol=0, atol=1e-12)
    metric.reset()
    assert not any(value.any() for value in state(metric).values())
    assert {v.dtype for v in state(metric).values()} <= {torch.float64, torch.long}


@pytest.mark.parametrize("make", METRICS)
def test_copies_and_reset(make):
    metric = feed(make())
    expected = state(metric)
    for other in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        torch.testing.assert_close(state(other), expected, rtol=0, atol=0)
    metric.reset()
    torch.testing.assert_close(state(feed(metric)), expected, rtol=0, atol=0)


@pytest.mark.parametrize("make", METRICS)
def test_forward_returns_the_values_of_its_batch(make):
    metric, batch = make(), feed(make(), slice(5)).compute()
    generator = torch.Generator().manual_seed(5)
    target = (torch.rand(17, 12, generator=generator) < 0.25)[:5]
    scores = torch.randint(-3, 3, (17, 12), generator=generator).float()[:5]
    found = metric(scores, target.nonzero()[:, 1], target.sum(1))
    torch.testing.assert_close(found, batch, equal_nan=True)


@pytest.mark.parametrize("make", METRICS)
def test_sums_are_where_the_model_is(make):
    metric = make().to("meta")
    assert {getattr(metric, name).device.type for name in metric._defaults} == {"meta"}


@pytest.mark.parametrize("make", METRICS)
def test_merged_sums_are_those_of_all_documents(make):
    metric = feed(make(), slice(9))
    metric.merge_state(feed(make(), slice(9, None)))
    torch.testing.assert_close(state(metric), state(feed(make())), rtol=0, atol=1e-12)
