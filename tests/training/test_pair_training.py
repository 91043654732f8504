import numpy as np
import pytest
import torch
from torch import nn

from gile_lightning.common.errors import DivergedError, InputError
from gile_lightning.training import pair_training
from gile_lightning.training.pair_training import PairTraining, train_pairs

LABELS = ["liver", "kidney", "heart", "lung"]
TEXTS = ["liver and kidney", "heart", "a lung", "kidney"]
IDS = torch.tensor([[2, 0, 1, 3], [2, 1, 0, 3], [0, 3, 1, 2], [1, 0, 3, 2]])
CORRECT = torch.tensor([[0, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]]).bool()
TRAINING = PairTraining(steps=25, documents=2, pairs=3, lr=0.05)


class Named(nn.Module):
    """A weight times whether the label stands in the text, after dropout."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.dropout = nn.Dropout(0.3)

    def forward(self, pairs):
        rows = torch.tensor([[float(label in text), 1.0] for text, label in pairs])
        return self.dropout(rows) @ self.weight


def trained(state=None, kept=None, training=TRAINING):
    model, kept = Named(), [] if kept is None else kept
    keep = lambda state: kept.append({k: _copied(v) for k, v in state.items()})  # noqa: E731
    losses = train_pairs(model, TEXTS, LABELS, IDS, CORRECT, training, state, keep)
    return model, losses, kept


def _copied(value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: _copied(nested) for key, nested in value.items()}
    return list(value) if isinstance(value, list) else value


def test_right_labels_get_higher_scores():
    model, losses, _ = trained()
    assert len(losses) == 25
    assert losses[0] == pytest.approx(np.log(2), abs=1e-6)  # with weights of zero
    assert np.mean(losses[-5:]) < 0.6
    assert model.weight[0] > 0.3
    assert model.weight[1] < 0


def test_training_that_was_stopped_goes_on_to_the_same_result():
    model, losses, kept = trained()
    assert [len(state["losses"]) for state in kept] == [10, 20, 25]
    again, found, _ = trained(kept[0])
    assert found == losses
    assert torch.equal(again.weight, model.weight)
    assert trained(kept[-1])[1] == losses


def test_every_pass_has_each_document_once():
    training = PairTraining(documents=3)
    rows = [row for step in range(4) for row in training.rows(step, 6)]
    assert sorted(rows[:6]) == sorted(rows[6:]) == list(range(6))
    assert rows[:6] != rows[6:]
    assert [row for step in range(2) for row in PairTraining(documents=6).rows(step, 6)] == rows


def test_half_of_the_drawn_labels_are_right_at_most():
    correct = np.isin(np.arange(50), [0, 3, 4, 9, 30])
    training = PairTraining(pairs=8)
    drawn = [training.draw(step, correct) for step in range(4_000)]
    assert all(len(set(places)) == 8 for places in drawn)
    assert {int(correct[places].sum()) for places in drawn} == {4}
    first = np.mean([[1 in places, 40 in places] for places in drawn], 0)
    assert first[0] > 3 * first[1] > 0  # weights of 1/2 and 1/41
    few = PairTraining(pairs=2)
    assert correct[few.draw(1, correct)].tolist() == [True, False]
    assert sorted(training.draw(1, np.ones(3, bool))) == [0, 1, 2]
    assert sorted(training.draw(1, np.zeros(3, bool))) == [0, 1, 2]


def test_the_learning_rate_rises_and_falls():
    training = PairTraining(steps=20)
    rates = [training.rate(step) for step in (0, 1, 2, 11, 19)]
    assert rates == pytest.approx([0.5, 1, 1, 0.5, 1 / 18])
    assert PairTraining(steps=1).rate(0) == 1


def test_wrong_settings_and_losses_are_refused(monkeypatch):
    with pytest.raises(InputError, match="steps is 0"):
        PairTraining(steps=0)
    monkeypatch.setattr(pair_training.F, "binary_cross_entropy_with_logits", _infinite)
    with pytest.raises(DivergedError, match="the loss of the cross-encoder in step 1"):
        trained()


def _infinite(scores, targets):
    return scores.sum() + torch.inf
