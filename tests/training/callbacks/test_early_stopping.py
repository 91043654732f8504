import json
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.trainer.states import TrainerFn

from gile_lightning import fit
from gile_lightning.common.errors import InputError
from gile_lightning.training.callbacks import PlateauEarlyStopping
from gile_testing import runs

POPULARITY = 0.2


class Trainer(SimpleNamespace):
    """What early stopping asks of a trainer; `epoch` is one validation."""

    def __init__(self, stopping, by_gradients=True):
        super().__init__(
            stopping=stopping,
            lightning_module=SimpleNamespace(automatic_optimization=by_gradients),
            callback_metrics={},
            should_stop=False,
            current_epoch=0,
            fast_dev_run=False,
            sanity_checking=False,
            world_size=1,
            state=SimpleNamespace(fn=TrainerFn.FITTING),
            strategy=SimpleNamespace(reduce_boolean_decision=lambda decision, all: decision),
        )

    def epoch(self, precision, popularity=POPULARITY, loss=0.5, f1=0.0, one_error=0.5):
        self.callback_metrics = {
            "val/average_precision": torch.tensor(precision),
            "val/ranking_loss": torch.tensor(loss),
            "val/f1": torch.tensor(f1),
            "val/popularity_average_precision": torch.tensor(popularity),
            "val/one_error": torch.tensor(one_error),
            "val/popularity_one_error": torch.tensor(0.8),
        }
        self.stopping.on_validation_end(self, None)
        return self.should_stop


def epochs(scores, **options):
    """Return how many of the epochs are trained."""
    trainer = Trainer(PlateauEarlyStopping(**options))
    for number, score in enumerate(scores, 1):
        if trainer.epoch(score):
            return number
    return None


PLATEAU = POPULARITY + 0.05
LEFT = [0.2, 0.19, 0.2, 0.3, 0.29, 0.31, 0.3, 0.3]  # in epoch 4; the best is epoch 6


@pytest.mark.parametrize(
    ("scores", "options", "trained"),
    [
        ([0.2, 0.19, 0.2, 0.18, 0.2, 0.2], {"patience": 1}, None),
        ([PLATEAU - 1e-4] * 6, {"patience": 1, "min_gain": 0.05}, None),
        ([PLATEAU + 1e-4] * 6, {"patience": 1, "min_gain": 0.05}, 2),
        (LEFT, {"patience": 1}, 5),
        (LEFT, {"patience": 2}, 8),
        (LEFT, {"patience": 3}, None),
        ([0.3, *[0.2] * 4], {}, 4),  # three by default
        ([0.3, 0.1, 0.1], {"patience": 2}, 3),  # a fall back below popularity counts
        ([0.2, *[0.1] * 8], {"patience": 2, "plateau": 0}, 3),
        ([0.2, *[0.1] * 8], {"patience": 2, "plateau": 3}, 5),
    ],
)
def test_patience_is_counted_once_the_plateau_is_left(scores, options, trained):
    assert epochs(scores, **options) == trained


def test_another_score_decides_when_the_precision_has_left_the_plateau():
    stopping = PlateauEarlyStopping("val/ranking_loss", patience=1, mode="min")
    trainer = Trainer(stopping)
    assert not trainer.epoch(0.2, loss=0.4)
    assert not trainer.epoch(0.2, loss=0.5)  # worse, but on the plateau
    assert not trainer.epoch(0.3, loss=0.3)
    assert trainer.epoch(0.4, loss=0.31)


@pytest.mark.parametrize(("f1", "trained"), [(0.0, 4), (0.01, 4), (0.02, 2)])
def test_no_patience_runs_before_a_label_is_predicted(f1, trained):
    trainer = Trainer(PlateauEarlyStopping("val/f1", patience=1, plateau=3))
    decisions = [trainer.epoch(0.9, f1=f1) for _ in range(trained)]
    assert decisions == [False] * (trained - 1) + [True]


@pytest.mark.parametrize("scores", [[0.2, 0.1], [0.3, 0.2], [0.2, 0.2, 0.3, 0.2, 0.1]])
def test_state_goes_on_where_it_was(scores):
    options = {"patience": 3, "plateau": 4}
    after = [0.1] * 6
    stopping = PlateauEarlyStopping(**options)
    for score in scores:
        Trainer(stopping).epoch(score)
    state = json.loads(json.dumps(stopping.state_dict(), default=float))
    state["best_score"] = torch.tensor(state["best_score"])
    restored = PlateauEarlyStopping(**options)
    restored.load_state_dict(state)
    decisions = [
        [Trainer(callback).epoch(score) for score in after] for callback in (stopping, restored)
    ]
    assert decisions[0] == decisions[1]
    assert any(decisions[0])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"patience": 0}, "must be above 0: patience is 0"),
        ({"plateau": -1}, "plateau and min_gain are 0 or more"),
        ({"min_gain": -0.1}, "plateau and min_gain are 0 or more"),
        ({"monitor": "val/ranking_los"}, "did you mean 'val/ranking_loss'?"),
        ({"monitor": "x"}, "early_stopping.monitor is 'x'; the scores are val/ranking_loss"),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(InputError) as raised:
        PlateauEarlyStopping(**options)
    assert error in str(raised.value)


def test_a_run_that_stopped_early_does_not_train_on(tmp_path):
    """The learning rate is far too high, so that nothing gets better."""
    stop = ("--early_stopping.patience", 1, "--early_stopping.plateau", 0)
    given = runs.arguments(tmp_path / "run", "--model.optimizer.lr", 3, *stop, epochs=20)
    first = fit.main(given)
    last = torch.load(tmp_path / "run/checkpoints/last.ckpt", weights_only=True)
    assert first["epochs"] < 20
    again = fit.main([*given, "--ckpt_path", "last"])
    assert runs.reproducible(again) == runs.reproducible(first)
    last2 = torch.load(tmp_path / "run/checkpoints/last.ckpt", weights_only=True)
    assert last2["global_step"] == last["global_step"]
    assert all(torch.equal(w, last2["state_dict"][key]) for key, w in last["state_dict"].items())


# --- a model that ranks labels by popularity ---


def warnings(capsys, scores, by_gradients=True, **options):
    """Train epochs with these scores; return the number of warnings after each and at the end."""
    trainer = Trainer(PlateauEarlyStopping(patience=100, **options), by_gradients)
    counts = []
    for epoch in [*scores, None]:
        if epoch is None:
            trainer.stopping.on_train_end(trainer, None)
        else:
            trainer.epoch(**epoch)
        counts.append(capsys.readouterr().out.count("as their training frequencies do"))
    return counts


STUCK, FINE = {"precision": 0.205}, {"precision": 0.3}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([STUCK, STUCK], [0, 0, 1]),  # training ends before the plateau
        ([STUCK, STUCK, STUCK], [0, 0, 1, 0]),
        ([STUCK] * 5, [0, 0, 1, 0, 0, 0]),  # once
        ([FINE, FINE, FINE, FINE], [0] * 5),
        ([STUCK, STUCK, STUCK, FINE], [0, 0, 1, 0, 0]),
        ([STUCK, FINE, STUCK, STUCK], [0] * 5),  # it was left
        ([FINE | {"one_error": 0.796}] * 3, [0, 0, 1, 0]),
        ([FINE | {"one_error": 0.804}], [0, 1]),
        ([FINE | {"one_error": 0.794}] * 3, [0] * 4),
        ([FINE] * 3 + [FINE | {"one_error": 0.8}] * 2, [0] * 5 + [1]),
        ([], [0]),
    ],
)
def test_a_model_that_ranks_by_popularity(capsys, scores, expected):
    assert warnings(capsys, scores, plateau=3) == expected


def test_a_resumed_run_may_have_another_patience():
    trainer = Trainer(PlateauEarlyStopping(patience=2))
    assert [trainer.epoch(score) for score in (0.5, 0.4, 0.4)] == [False, False, True]
    for patience, stops in ((2, True), (1, True), (3, False)):
        resumed = Trainer(PlateauEarlyStopping(patience=patience))
        resumed.stopping.load_state_dict(trainer.stopping.state_dict())
        resumed.stopping.on_train_start(resumed, None)
        assert resumed.should_stop is stops


def test_baselines_are_not_warned(capsys):
    """Such as the ranking by popularity itself."""
    assert warnings(capsys, [STUCK] * 3, by_gradients=False, plateau=3) == [0] * 4


def test_scores_that_no_validation_document_has(capsys):
    assert epochs([float("nan")] * 2) == 1
    assert "no validation document has a label that val/average_pre" in capsys.readouterr().out


def test_without_validation_documents_nothing_is_known(capsys):
    unknown = {"precision": float("nan"), "popularity": float("nan")}
    assert warnings(capsys, [unknown] * 3, plateau=3) == [0] * 4


@pytest.mark.parametrize("name", ["ranking_loss", "one_error"])
def test_errors_are_the_better_the_lower(name):
    with pytest.raises(InputError, match=f"'val/{name}'.* set --early_stopping.mode min"):
        PlateauEarlyStopping(f"val/{name}")
    assert PlateauEarlyStopping(f"val/{name}", mode="min").mode == "min"
    assert PlateauEarlyStopping("val/f1").mode == "max"
