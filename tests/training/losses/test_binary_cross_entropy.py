import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import log_loss

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


def test_equals_scikit_learn(batch):
    rows = zip(*(part.numpy() for part in batch), strict=True)
    expected = np.mean(
        [
            log_loss(targets, 1 / (1 + np.exp(-logits)), sample_weight=weights, labels=[0, 1])
            for logits, targets, weights in rows
        ]
    )
    assert binary_cross_entropy(*batch).item() == pytest.approx(expected, rel=1e-10)


def test_with_all_labels_it_is_the_plain_mean(batch):
    logits, targets, _ = batch
    torch.testing.assert_close(
        binary_cross_entropy(logits, targets, torch.ones_like(logits)),
        F.binary_cross_entropy_with_logits(logits, targets),
        rtol=1e-12,
        atol=0,
    )


def test_by_hand():
    """Two documents: ln 2 once, and (2 ln 2 + ln 4) / 3 with the second label counted twice."""
    logits = torch.tensor([[0.0, 50.0], [math.log(3), 0.0]])
    targets = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    weights = torch.tensor([[1.0, 0.0], [1.0, 2.0]])
    expected = (math.log(2) + (math.log(4) + 2 * math.log(2)) / 3) / 2
    assert binary_cross_entropy(logits, targets, weights).item() == pytest.approx(expected)


def test_document_without_a_scored_label_adds_nothing():
    logits = torch.zeros(2, 3, requires_grad=True)
    weights = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    loss = binary_cross_entropy(logits, torch.zeros(2, 3), weights)
    assert loss.item() == pytest.approx(math.log(2) / 2)
    loss.backward()
    assert logits.grad.tolist() == [[0.125, 0.125, 0.0], [0.0, 0.0, 0.0]]


def test_extreme_logits_are_finite():
    logits = torch.tensor([[1e4, -1e4], [-1e4, 1e4]], requires_grad=True)
    targets = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    loss = binary_cross_entropy(logits, targets, torch.ones(2, 2))
    assert loss.item() == pytest.approx(1e4 / 4)
    loss.backward()
    assert logits.grad.tolist() == [[0.0, 0.0], [-0.25, 0.0]]
