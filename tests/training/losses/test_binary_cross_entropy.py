import math

import pytest
import torch
import torch.nn.functional as F

from gile_lightning.training.losses import BinaryCrossEntropy

binary_cross_entropy = BinaryCrossEntropy()


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(6, 9, dtype=torch.double, generator=generator) * 3
    targets = torch.rand(6, 9, generator=generator).lt(0.3).double()
    weights = torch.randint(0, 4, (6, 9), generator=generator).double()
    return logits, targets, weights


def test_equals_a_loop(batch):
    documents = []
    for logits, targets, weights in zip(*(part.tolist() for part in batch), strict=True):
        losses = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            probability = 1 / (1 + math.exp(-logit))
            loss = -math.log(probability if target else 1 - probability)
            losses += [loss] * int(weight)  # a label drawn twice counts twice
        documents.append(sum(losses) / len(losses))
    expected = sum(documents) / len(documents)
    assert binary_cross_entropy(*batch).item() == pytest.approx(expected, rel=1e-12)
    logits, targets, weights = batch
    found = binary_cross_entropy(logits, targets, torch.ones_like(weights))
    plain = F.binary_cross_entropy_with_logits(logits, targets)  # with all labels once
    torch.testing.assert_close(found, plain, rtol=1e-12, atol=0)


def test_document_without_a_scored_label_adds_nothing():
    logits = torch.zeros(2, 3, requires_grad=True)
    weights = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    loss = binary_cross_entropy(logits, torch.zeros(2, 3), weights)
    assert loss.item() == pytest.approx(math.log(2) / 2)
    loss.backward()
    assert logits.grad.tolist() == [[0.125, 0.125, 0.0], [0.0, 0.0, 0.0]]


def test_document_with_one_scored_label():
    weights = torch.tensor([[0.0, 1.0, 0.0]])
    loss = binary_cross_entropy(torch.zeros(1, 3), torch.zeros(1, 3), weights)
    assert loss.item() == pytest.approx(math.log(2))


def test_extreme_logits_are_finite():
    logits = torch.tensor([[1e4, -1e4], [-1e4, 1e4]], requires_grad=True)
    targets = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    loss = binary_cross_entropy(logits, targets, torch.ones(2, 2))
    assert loss.item() == pytest.approx(1e4 / 4)
    loss.backward()
    assert logits.grad.tolist() == [[0.0, 0.0], [-0.25, 0.0]]
