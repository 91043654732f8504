import json
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.trainer.states import TrainerFn

from gile_lightning import fit
from gile_lightning.common.errors import DivergedError, InputError
from gile_lightning.systems.baselines import Popularity
from gile_lightning.systems.neural import NeuralSystem
from gile_lightning.training.callbacks import FiniteLoss, LastCheckpoint, PlateauEarlyStopping
from gile_testing import runs

POPULARITY = 0.2


class Trainer(SimpleNamespace):
    """What early stopping asks of a trainer; `epoch` is one validation."""

    def __init__(self, stopping, module=None):
        super().__init__(
            stopping=stopping,
            lightning_module=module,
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


def test_no_patience_runs_on_the_plateau():
    assert epochs([0.2, 0.19, 0.2, 0.18, 0.2, 0.2], patience=1) is None


def test_a_gain_must_be_above_min_gain():
    just_not, just = POPULARITY + 0.0499, POPULARITY + 0.0501
    assert epochs([just_not] * 6, patience=1, min_gain=0.05) is None
    assert epochs([just] * 6, patience=1, min_gain=0.05) == 2


@pytest.mark.parametrize(("patience", "trained"), [(1, 5), (2, 8), (3, None)])
def test_patience_runs_once_the_plateau_is_left(patience, trained):
    scores = [0.2, 0.19, 0.2, 0.3, 0.29, 0.31, 0.3, 0.3]  # left in epoch 4, best in epoch 6
    assert epochs(scores, patience=patience) == trained


def test_a_fall_back_below_popularity_counts():
    assert epochs([0.3, 0.1, 0.1], patience=2) == 3


@pytest.mark.parametrize("plateau", [0, 3])
def test_patience_runs_after_the_plateau_in_any_case(plateau):
    scores = [0.2, *[0.1] * 8]
    assert epochs(scores, patience=2, plateau=plateau) == max(1, plateau) + 2


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


def warnings(capsys, scores, module=None, **options):
    """Train epochs with these scores; return the number of warnings after each and at the end."""
    trainer = Trainer(PlateauEarlyStopping(patience=100, **options), module or NeuralSystem())
    counts = []
    for given in [*scores, None]:
        if given is None:
            trainer.stopping.on_train_end(trainer, None)
        else:
            trainer.epoch(**given)
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


def test_what_is_said_of_it(capsys):
    trainer = Trainer(PlateauEarlyStopping(plateau=1), NeuralSystem())
    trainer.epoch(0.2051, one_error=0.7951)
    printed = capsys.readouterr().out
    assert printed.startswith("The model still ranks labels much as their training frequencies do")
    assert "average precision is 0.205 (by popularity 0.200)" in printed
    assert "one-error 0.795 (by popularity 0.800)" in printed
    for key in ("optimizer", "sampler", "norm", "matchers"):
        assert f"model.{key}" in printed
    assert printed.count("\n") == 1


def test_other_systems_are_not_told(capsys):
    """Such as the ranking by popularity itself."""
    assert warnings(capsys, [STUCK] * 3, module=Popularity(), plateau=3) == [0] * 4


def test_without_validation_documents_nothing_is_known(capsys):
    unknown = {"precision": float("nan"), "popularity": float("nan")}
    assert warnings(capsys, [unknown] * 3, plateau=3) == [0] * 4


# --- the last checkpoint ---


def test_last_checkpoint_every_so_many_steps_and_after_each_epoch(tmp_path):
    saved = []
    callback = LastCheckpoint(tmp_path, every_n_train_steps=3)
    progress = SimpleNamespace(is_last_batch=False)
    trainer = SimpleNamespace(
        global_step=0,
        accumulate_grad_batches=1,
        fit_loop=SimpleNamespace(epoch_loop=SimpleNamespace(batch_progress=progress)),
        save_checkpoint=lambda path: saved.append((trainer.global_step, path)),
    )
    for _ in range(2):
        for batch in range(5):
            trainer.global_step += 1
            progress.is_last_batch = batch == 4
            callback.on_train_batch_end(trainer, None, None, None, batch)
        callback.on_train_epoch_end(trainer, None)
    assert [step for step, _ in saved] == [3, 5, 6, 9, 10]
    assert {path for _, path in saved} == {tmp_path / "checkpoints/last.ckpt"}


# --- losses and weights that are not finite ---


class Steps:
    """A trainer of one process that takes steps with given losses; counts the looks."""

    def __init__(self, callback):
        self.callback, self.global_step, self.looks = callback, 0, 0
        self.strategy = SimpleNamespace(reduce=self._reduce)

    def _reduce(self, tensor, reduce_op):
        assert reduce_op == "min"
        self.looks += 1
        return tensor

    def take(self, *losses):
        for loss in losses:
            self.global_step += 1
            outputs = {"loss": torch.tensor(loss)}
            self.callback.on_train_batch_end(self, None, outputs, None, self.global_step - 1)


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), -float("inf")])
def test_a_loss_is_looked_at_every_so_many_steps(loss):
    trainer = Steps(FiniteLoss(every_n_train_steps=4))
    trainer.take(0.5, 0.5, 0.5, 0.5, 0.5, loss, loss)
    assert trainer.looks == 1
    with pytest.raises(DivergedError, match="the loss of step 6 is not finite: training diverged"):
        trainer.take(0.5)
    assert trainer.looks == 2


def test_a_loss_is_looked_at_before_a_checkpoint_and_at_the_end_of_an_epoch():
    module = torch.nn.Linear(2, 1)
    for look in ("on_save_checkpoint", "on_train_epoch_end"):
        trainer = Steps(FiniteLoss())
        arguments = (trainer, module, {})[: 3 if look == "on_save_checkpoint" else 2]
        getattr(trainer.callback, look)(*arguments)
        trainer.take(0.5, 0.5)
        getattr(trainer.callback, look)(*arguments)
        trainer.take(0.5, float("nan"), 0.5)
        with pytest.raises(DivergedError, match=r"the loss of step 4 is not finite"):
            getattr(trainer.callback, look)(*arguments)


def test_weights_are_looked_at_before_a_checkpoint():
    """The step whose loss was the last finite one may have broken them."""
    module = torch.nn.Linear(2, 1)
    trainer = Steps(FiniteLoss())
    trainer.take(0.5, 0.5)
    trainer.callback.on_save_checkpoint(trainer, module, {})
    with torch.no_grad():
        module.weight[0, 1] = torch.inf
    with pytest.raises(
        DivergedError, match=r"weights are not finite after step 2: .*gradient_clip"
    ):
        trainer.callback.on_save_checkpoint(trainer, module, {})


def test_systems_without_a_loss_are_let_be():
    callback = FiniteLoss(every_n_train_steps=1)
    callback.on_train_batch_end(None, None, None, None, 0)
    callback.on_train_batch_end(None, None, {}, None, 1)
    callback.on_train_epoch_end(None, None)
