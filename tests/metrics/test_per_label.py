import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from gile_lightning.metrics import LabelF1, MicroF1


def documents(rows=37, columns=101, seed=5):
    """Logits, and a target matrix that is likelier where they are high; some labels never are."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, columns, generator=generator) * 2 - 1
    target = torch.rand(logits.shape, generator=generator) < (logits - 3).sigmoid()
    target[3] = False
    target[:, ::7] = False
    return logits, target


def feed(logits, target, sizes, threshold=0.4):
    metric = LabelF1(logits.shape[1], threshold)
    for x, y in zip(logits.split(sizes), target.split(sizes), strict=True):
        metric.update(x, y.nonzero()[:, 1], y.sum(1))
    return metric


def oracle(logits, target, threshold):
    """F1 of every label by scikit-learn, NaN for those without a positive."""
    predicted = logits.float().sigmoid().numpy() > np.float32(threshold)
    f1 = f1_score(target.numpy(), predicted, average=None, zero_division=0)
    return np.where(target.any(0).numpy(), f1, np.nan)


@pytest.mark.parametrize("threshold", [0.05, 0.4])
def test_equals_scikit_learn(threshold):
    logits, target = documents()
    metric = feed(logits, target, [37], threshold)
    found = metric.compute()
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found.numpy(), oracle(logits, target, threshold), atol=1e-12)
    # the mean is scikit-learn's macro F1 of the labels that occur
    predicted = logits.sigmoid().numpy() > np.float32(threshold)
    labels = target.any(0).nonzero().flatten().tolist()
    assert len(labels) < logits.shape[1]
    macro = f1_score(target.numpy(), predicted, labels=labels, average="macro", zero_division=0)
    assert found.nanmean().item() == pytest.approx(macro, abs=1e-12)


def test_by_hand():
    logits = torch.tensor([[3.0, -1.0, 2.0, 1.0], [1.0, -2.0, -1.0, 2.0]])
    metric = LabelF1(4, 0.5)
    metric.update(logits, torch.tensor([0, 1, 2]), torch.tensor([3, 0]))
    # found once in two predictions, never predicted, found, without a positive
    assert metric.compute().tolist() == pytest.approx([2 / 3, 0, 1, torch.nan], nan_ok=True)


def test_ids_without_a_column_are_left_out():
    metric = LabelF1(2, 0.5)
    metric.update(torch.tensor([[1.0, -1.0]]), torch.tensor([2, 0, 7]), torch.tensor([3]))
    assert metric.counts.tolist() == [[1, 0], [1, 0], [1, 0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_counts_add_up_to_those_of_micro_f1(dtype):
    """Also where probabilities are as close to the threshold as can be."""
    limit = float(np.log(0.4 / 0.6))
    near = torch.tensor(limit).repeat(999).view(37, 27)
    offsets = torch.arange(999).view(37, 27) - 500
    near = (near.view(torch.int32) + offsets.int()).view(torch.float32)
    logits, target = documents()
    logits, target = torch.cat([logits, near], 1).to(dtype), torch.cat([target, near > limit], 1)
    micro = MicroF1()
    for x, y in zip(logits.split(10), target.split(10), strict=True):
        micro.update(x, y.nonzero()[:, 1], y.sum(1))
    totals = feed(logits, target, 10).counts.sum(1)
    assert totals.tolist() == micro.totals[:, micro.thresholds.index(0.4)].tolist()
