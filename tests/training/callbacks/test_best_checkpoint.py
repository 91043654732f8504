"""Which of several epochs is kept."""

import shutil

import lightning
import pytest
import torch
from torch.utils.data import DataLoader

from gile_lightning.tracking.history import History
from gile_lightning.training.callbacks import BestCheckpoint, LanguageCheckpoint


class Scored(lightning.LightningModule):
    """Has a given score after each epoch, and a weight that counts the epochs."""

    def __init__(self, scores):
        super().__init__()
        self.scores = scores
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def training_step(self, batch, batch_idx):
        return self.weight * 0

    def validation_step(self, batch, batch_idx):
        self.log("val/score", self.scores[self.current_epoch])

    def on_train_epoch_start(self):
        self.weight.data.fill_(self.current_epoch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Stop(lightning.Callback):
    """Ends training after an epoch."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_train_epoch_end(self, trainer, pl_module):
        trainer.should_stop = trainer.current_epoch == self.epoch


def train(scores, mode, folder, epochs=None, candidates=None, stop=None, **more):
    options = {"monitor": "val/score", "mode": mode, "enable_version_counter": False}
    kept = BestCheckpoint(candidates, dirpath=folder, filename="best", **options)
    trainer = lightning.Trainer(
        max_epochs=epochs or len(scores),
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[kept, *([] if stop is None else [Stop(stop)])],
    )
    data = DataLoader([torch.zeros(1)])
    trainer.fit(Scored(scores), data, data, **more)
    return trainer


def kept_epoch(folder):
    state = torch.load(folder / "best.ckpt", weights_only=True)["state_dict"]
    return int(state["weight"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("scores", "mode", "epoch"),
    [
        ([1.0, 1.0, 1.0], "max", 2),
        ([0.5, 0.9, 0.9, 0.7], "max", 2),
        ([0.5, 0.9, 0.7, 0.8], "max", 1),
        ([0.3, 0.2, 0.2, 0.4], "min", 2),
    ],
)
def test_the_best_epoch_is_kept_of_several_the_last(scores, mode, epoch, tmp_path):
    train(scores, mode, tmp_path)
    assert kept_epoch(tmp_path) == epoch
    assert [file.name for file in tmp_path.iterdir()] == ["best.ckpt"]
    history = History(tmp_path)
    history.validations = [{"epoch": i, "val/score": x} for i, x in enumerate(scores)]
    assert history.best("val/score", mode)["best_epoch"] == epoch


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["max", "min"])
def test_without_a_score_the_last_epoch_is_kept(mode, tmp_path):
    train([float("nan")] * 3, mode, tmp_path)
    assert kept_epoch(tmp_path) == 2
    train([float("nan"), 0.5, float("nan")], mode, tmp_path / "one")
    assert kept_epoch(tmp_path / "one") == 1


@pytest.mark.filterwarnings("ignore")
def test_the_history_tells_the_validation_that_is_kept(tmp_path):
    """Not every epoch has one, and some have several."""
    scores = {(1, 0): 0.7, (1, 1): 0.4, (3, 0): 0.6, (3, 1): 0.5}

    class Twice(Scored):
        def on_validation_start(self):
            seen = [epoch for epoch, _ in self.met]
            self.met.append((self.current_epoch, seen.count(self.current_epoch)))

        def validation_step(self, batch, batch_idx):
            self.log("val/score", scores[self.met[-1]])

    history = History(tmp_path)
    options = {"monitor": "val/score", "mode": "max", "enable_version_counter": False}
    trainer = lightning.Trainer(
        max_epochs=5,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        check_val_every_n_epoch=2,
        val_check_interval=0.5,
        callbacks=[BestCheckpoint(dirpath=tmp_path, filename="best", **options), history],
    )
    model = Twice(None)
    model.met = []
    data = DataLoader([(torch.zeros(1))] * 2)
    history.on_train_batch_end = lambda *_: None  # there are no documents to count
    trainer.fit(model, data, DataLoader([torch.zeros(1)]))
    assert model.met == [*scores]
    assert kept_epoch(tmp_path) == 1
    assert history.best("val/score", "max") == {"best_epoch": 1, "val.score": pytest.approx(0.7)}
    assert [row.get("val/score") for row in history.rows] == [
        *(None, pytest.approx(0.4)),
        *(None, pytest.approx(0.5)),
        None,
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("scores", "candidates", "stop", "epoch"),
    [
        ([0.9, 0.8, 0.5, 0.6, 0.55], 3, None, 3),  # the first two do not count
        ([0.9, 0.8, 0.5, 0.6, 0.55], 1, None, 4),
        ([0.9, 0.8, 0.5, 0.6, 0.55], 5, None, 0),
        ([0.9, 0.8, 0.5, 0.6, 0.55], 9, None, 0),
        ([0.8, 0.9, 0.5, 0.6, 0.55], 2, 2, 1),  # training did not get to the candidates
        ([0.8, 0.9, 0.5, 0.6, 0.55], 2, 3, 3),
    ],
)
def test_only_the_last_epochs_compete(scores, candidates, stop, epoch, tmp_path):
    trainer = train(scores, "max", tmp_path, candidates=candidates, stop=stop)
    assert kept_epoch(tmp_path) == epoch
    assert [file.name for file in tmp_path.iterdir()] == ["best.ckpt"]
    history, done = History(tmp_path), len(scores) if stop is None else stop + 1
    history.validations = [{"epoch": i, "val/score": x} for i, x in enumerate(scores[:done])]
    (kept,) = (each for each in trainer.callbacks if isinstance(each, BestCheckpoint))
    assert history.best("val/score", "max", kept.first or 0)["best_epoch"] == epoch


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("broken_after", "epoch"), [(1, 3), (3, 2), (4, 2)])
def test_candidates_are_known_after_a_resume(broken_after, epoch, tmp_path):
    scores = [0.9, 0.8, 0.7, 0.5, 0.6] if broken_after > 1 else [0.9, 0.8, 0.5, 0.7, 0.6]
    trainer = train(scores, "max", tmp_path / "kept", candidates=3, stop=broken_after - 1)
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    train(scores, "max", tmp_path / "kept", candidates=3, ckpt_path=tmp_path / "last.ckpt")
    assert kept_epoch(tmp_path / "kept") == epoch


@pytest.mark.filterwarnings("ignore")
def test_the_best_score_is_known_after_a_resume(tmp_path):
    scores = [0.5, 0.9, 0.8, 0.9]
    trainer = train(scores, "max", tmp_path / "kept", epochs=3)
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    saved = torch.load(tmp_path / "last.ckpt", weights_only=False)["callbacks"]
    assert sum(key.startswith("ModelCheckpoint{") for key in saved) == 1  # as in older runs
    train([*scores[:3], 0.85], "max", tmp_path / "kept", epochs=4, ckpt_path=tmp_path / "last.ckpt")
    assert kept_epoch(tmp_path / "kept") == 1
    train(scores, "max", tmp_path / "kept", epochs=4, ckpt_path=tmp_path / "last.ckpt")
    assert kept_epoch(tmp_path / "kept") == 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("moved", "copied", "epoch"),
    [
        (True, False, 1),  # the folder has another name
        (False, False, 1),  # the run goes on in a second folder
        (False, True, 1),  # which is a copy
        (True, True, 3),  # the best checkpoint is lost: epochs compete anew
    ],
)
def test_the_best_epoch_competes_from_another_folder(moved, copied, epoch, tmp_path):
    trainer = train([0.5, 0.9, 0.8], "max", tmp_path / "first")
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    if copied:
        shutil.copytree(tmp_path / "first", tmp_path / "second")
    if moved:
        (tmp_path / "first").rename(tmp_path / ("lost" if copied else "second"))
    if moved and copied:
        shutil.rmtree(tmp_path / "second")
    scores = [0.5, 0.9, 0.8, 0.7]
    trainer = train(scores, "max", tmp_path / "second", ckpt_path=tmp_path / "last.ckpt")
    assert kept_epoch(tmp_path / "second") == epoch
    assert trainer.checkpoint_callback.best_model_path == str(tmp_path / "second/best.ckpt")
    assert [file.name for file in (tmp_path / "second").iterdir()] == ["best.ckpt"]


def test_a_run_that_moved_before_its_first_epoch_ended_warns_of_nothing(tmp_path, recwarn):
    options = {"monitor": "val/score", "mode": "max"}
    before = BestCheckpoint(None, dirpath=tmp_path / "first", **options)
    after = BestCheckpoint(None, dirpath=tmp_path / "second", **options)
    after.load_state_dict(before.state_dict())
    assert not recwarn
    assert after.dirpath == str(tmp_path / "second")


def test_languages_keep_their_own_key():
    options = {"monitor": "val/score", "mode": "max"}
    assert LanguageCheckpoint("german", **options).state_key.startswith("LanguageCheckpoint{")
