import math

import pytest
import torch
import torch.nn.functional as F
from scipy.special import log_softmax

from gile_lightning.training.losses import SoftmaxCrossEntropy

loss = SoftmaxCrossEntropy()


@pytest.fixture
def logits():
    generator = torch.Generator().manual_seed(3)
    return torch.randn(6, 9, dtype=torch.double, generator=generator) * 3


def test_it_is_the_cross_entropy_with_soft_targets(logits):
    """Documents with several labels, and with one."""
    targets = torch.zeros_like(logits)
    targets[[0, 0, 0, 1, 2, 2, 3, 4, 5], [1, 4, 8, 0, 3, 7, 6, 5, 2]] = 1
    expected = F.cross_entropy(logits, targets / targets.sum(1, keepdim=True))
    torch.testing.assert_close(loss(logits, targets, torch.ones_like(logits)), expected)


def test_weights_equal_a_loop_over_repeated_labels(logits):
    """A label with the weight 3 is there three times, one with 0 is not there."""
    weights = torch.randint(0, 4, logits.shape, generator=torch.Generator().manual_seed(5)).double()
    targets = torch.zeros_like(logits)
    ids = [4, 0, 8, 8, 1, 2]
    targets[range(6), ids] = weights[range(6), ids] = 1
    losses = []
    for row, counts, label in zip(logits.tolist(), weights.tolist(), ids, strict=True):
        repeated = [k for k, n in enumerate(counts) for _ in range(int(n))]
        scores = log_softmax([row[k] for k in repeated])
        losses.append(-scores[repeated.index(label)])
    assert loss(logits, targets, weights).item() == pytest.approx(sum(losses) / 6, rel=1e-12)


def test_documents_without_a_label_or_a_scored_one_add_nothing():
    logits = torch.tensor([[0.0, math.log(3)], [1, 2], [3, 4]], requires_grad=True)
    targets = torch.tensor([[1.0, 0], [0, 0], [0, 0]])
    weights = torch.tensor([[1.0, 1], [1, 1], [0, 0]])
    value = loss(logits, targets, weights)
    assert value.item() == pytest.approx(math.log(4) / 3)
    value.backward()
    expected = torch.tensor([[-0.25, 0.25], [0, 0], [0, 0]])  # (p - t) / 3
    torch.testing.assert_close(logits.grad, expected)


def test_extreme_logits_are_finite():
    logits = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    value = loss(logits, torch.tensor([[0.0, 1, 0]]), torch.tensor([[1.0, 1, 0]]))
    assert value.item() == pytest.approx(2e4)
    value.backward()
    assert logits.grad.tolist() == [[1, -1, 0]]


def test_half_precision():
    """The label that is not scored is less than the lowest number below the others."""
    logits, weights = torch.tensor([[100.0, 100, 100]]).half(), torch.tensor([[1.0, 1, 0]]).half()
    value = loss(logits, torch.tensor([[1.0, 0, 0]]).half(), weights)
    assert value.item() == pytest.approx(math.log(2), rel=1e-3)


def test_probabilities_are_the_softmax(logits):
    logits = logits.float()
    found = loss.log_odds(logits)
    torch.testing.assert_close(found.sigmoid(), logits.softmax(1), rtol=1e-5, atol=1e-9)
    assert torch.equal(found.argsort(1), logits.argsort(1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_probabilities_of_extreme_logits(dtype):
    found = loss.log_odds(torch.tensor([[90.0, -90, -80], [0, 0, 0]], dtype=dtype))
    assert found.isfinite().all()
    assert found.dtype == torch.float32
    assert found[0].argsort().tolist() == [1, 2, 0]
    assert found[0, 0].item() == pytest.approx(math.log(2**24 - 1))  # 1 - 2⁻²⁴ is below 1
    assert found[0].sigmoid().tolist() == pytest.approx([1, 0, 0], abs=1e-7)
    assert found[1].sigmoid().tolist() == pytest.approx([1 / 3] * 3)
    assert loss.log_odds(torch.tensor([[-3.0]])).sigmoid().item() == pytest.approx(1)
