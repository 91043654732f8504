"""What every loss promises. A new loss is one more of LOSSES."""

from dataclasses import FrozenInstanceError

import pytest
import torch

from gile_lightning.training.losses import BinaryCrossEntropy, Loss, SoftmaxCrossEntropy

LOSSES = [BinaryCrossEntropy, SoftmaxCrossEntropy]
every_loss = pytest.mark.parametrize("kind", LOSSES)


@every_loss
def test_losses_are_values(kind):
    assert kind() == kind()
    assert len({kind(), kind()}) == 1
    logits = torch.zeros(1, 2)
    assert kind()(logits, logits, logits + 1) == kind()(logits, logits, logits + 1)
    with pytest.raises(FrozenInstanceError):
        kind().scale = 2


@every_loss
def test_a_mean_over_documents(kind):
    """The loss of two documents is the mean of those of one."""
    logits = torch.tensor([[0.3, -1.2, 2.0], [1.1, 0.4, -0.7]], dtype=torch.double)
    targets = torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]], dtype=torch.double)
    weights = torch.tensor([[2.0, 1.0, 1.0], [1.0, 0.0, 3.0]], dtype=torch.double)
    alone = [kind()(logits[i : i + 1], targets[i : i + 1], weights[i : i + 1]) for i in range(2)]
    assert float(kind()(logits, targets, weights)) == pytest.approx(float(sum(alone)) / 2)


@every_loss
def test_log_odds_rank_labels_as_logits_do(kind):
    logits = torch.tensor([[0.3, -1.2, 2.0], [1.1, 0.4, -0.7]])
    assert torch.equal(kind().log_odds(logits).argsort(1), logits.argsort(1))


def test_a_loss_compares_logits_with_targets():
    class Nothing(Loss):
        pass

    with pytest.raises(TypeError, match=r"abstract method '?__call__"):
        Nothing()

    class Own(Nothing):
        def __call__(self, logits, targets, weights):
            return logits.sum()

    logits = torch.ones(1, 2)
    assert Own().log_odds(logits) is logits  # unless it says others
