import csv
import math
from types import SimpleNamespace

import pytest
import torch

from gile_lightning.tracking import history
from gile_lightning.tracking.history import History


def batch(*sizes):
    """A batch of languages with so many documents each."""
    return {
        str(i): SimpleNamespace(label_counts=torch.ones(n), loss_weight=1.0)
        for i, n in enumerate(sizes)
    }


def trainer(epoch=0, step=0, rank=0, processes=1, **metrics):
    return SimpleNamespace(
        current_epoch=epoch,
        global_step=step,
        sanity_checking=False,
        callback_metrics={k.replace("_", "/", 1): torch.tensor(v) for k, v in metrics.items()},
        is_global_zero=rank == 0,
        world_size=processes,
        loggers=[SimpleNamespace(log_metrics=lambda values, step: LOGGED.append((values, step)))],
    )


LOGGED = []


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    now = SimpleNamespace(time=100.0)
    monkeypatch.setattr(history.time, "perf_counter", lambda: now.time)
    return now


def read(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_speed_leaves_validation_out(tmp_path, clock):
    callback = History(tmp_path)
    assert math.isnan(callback.documents_per_second)
    callback.on_train_epoch_start()
    for seconds, size in ((1.0, 32), (2.0, 31)):
        clock.time += seconds
        callback.on_train_batch_end(trainer(), None, None, batch(size))
    clock.time += 50
    callback.on_validation_end(trainer(), None)
    clock.time += 1
    callback.on_train_batch_end(trainer(), None, None, batch(20, 7))  # two languages
    assert callback.documents == 32 + 31 + 27
    assert callback.seconds == 4.0
    assert callback.documents_per_second == 90 / 4


def step(callback, clock, wait, work, size=10):
    clock.time += wait
    callback.on_train_batch_start()
    clock.time += work
    callback.on_train_batch_end(trainer(), None, None, batch(size))


def test_share_of_waiting_leaves_validation_and_checkpoints_out(tmp_path, clock):
    callback = History(tmp_path)
    assert math.isnan(callback.data_wait)
    callback.on_train_epoch_start()
    step(callback, clock, wait=1.0, work=3.0)
    step(callback, clock, wait=0.0, work=1.0)
    assert callback.data_wait == 1 / 5
    clock.time += 50
    callback.on_validation_end(trainer(), None)
    step(callback, clock, wait=2.0, work=1.0)
    assert callback.data_wait == 3 / 8
    callback.on_save_checkpoint()
    step(callback, clock, wait=7.0, work=1.0)  # how much of it was the checkpoint nobody knows
    assert callback.data_wait == 3 / 8
    assert callback.seconds == 16
    callback.on_train_epoch_end(trainer(0, 4), None)
    callback.on_save_checkpoint()
    clock.time += 9
    callback.on_train_epoch_start()
    step(callback, clock, wait=0.5, work=1.5)
    assert callback.data_wait == 3.5 / 10
    callback.on_train_epoch_end(trainer(1, 5), None)
    assert [row["train/data_wait"] for row in read(callback.path)] == ["0.375", "0.25"]
    # 40 documents in 16 seconds, then 10 in 2
    speeds = [row["train/documents_per_second"] for row in read(callback.path)]
    assert speeds == ["2.5", "5.0"]
    assert LOGGED[-2:] == [
        ({"train/documents_per_second": 2.5, "train/data_wait": 0.375}, 4),
        ({"train/documents_per_second": 5.0, "train/data_wait": 0.25}, 5),
    ]


def test_documents_of_all_processes(tmp_path, clock):
    callback = History(tmp_path)
    callback.on_train_epoch_start()
    callback.on_train_batch_end(trainer(processes=2), None, None, batch(16))
    assert callback.documents == 32
    uneven = batch(15)
    uneven["0"].loss_weight = 15 / (31 / 2)  # 31 documents, 16 of them in the other process
    callback.on_train_batch_end(trainer(processes=2), None, None, uneven)
    assert callback.documents == 32 + 31


def test_a_row_per_epoch(tmp_path):
    callback = History(tmp_path)
    callback.on_train_epoch_end(trainer(0, 7, train_loss=0.5), None)
    last = trainer(1, 14, train_loss=0.25, val_score=0.75)
    callback.on_validation_end(last, None)
    callback.on_train_epoch_end(last, None)
    assert read(tmp_path / "metrics.csv") == [
        {"epoch": "0", "step": "7", "train/loss": "0.5", "val/score": ""},
        {"epoch": "1", "step": "14", "train/loss": "0.25", "val/score": "0.75"},
    ]
    History(tmp_path / "other").on_train_epoch_end(trainer(rank=1, processes=2), None)
    assert [file.name for file in tmp_path.iterdir()] == ["metrics.csv"]


def test_a_resumed_run_goes_on_with_the_table(tmp_path, clock):
    first, resumed, whole = (History(tmp_path / name) for name in ("first", "resumed", "whole"))
    for callback in (first, resumed, whole):
        callback.path.parent.mkdir()
    for epoch, callbacks in ((0, (first, whole)), (1, (resumed, whole))):
        if epoch == 1:
            resumed.load_state_dict(first.state_dict())
        for callback in callbacks:
            callback.on_train_epoch_start()
            step(callback, clock, wait=0.5, work=1.5)
            callback.on_train_epoch_end(trainer(epoch, epoch + 1, train_loss=0.5), None)
    state, unbroken = resumed.state_dict(), whole.state_dict()
    assert resumed.earlier == 4.0  # the clock when the first one's state was taken
    assert state.pop("elapsed") == 4.0 + unbroken.pop("elapsed")  # both here since the clock's 0
    assert state == unbroken
    assert resumed.path.read_text() == whole.path.read_text()


def test_a_run_resumed_within_an_epoch_has_its_share_of_waiting(tmp_path, clock):
    first, resumed = (History(tmp_path) for _ in range(2))
    first.on_train_epoch_start()
    step(first, clock, wait=1.0, work=1.0)
    first.on_train_epoch_end(trainer(0, 1), None)
    first.on_train_epoch_start()
    step(first, clock, wait=0.0, work=1.0)
    resumed.load_state_dict(first.state_dict())
    resumed.on_train_start()
    step(resumed, clock, wait=1.0, work=2.0)
    resumed.on_train_epoch_end(trainer(1, 3), None)
    assert [row["train/data_wait"] for row in resumed.rows] == [0.5, 0.25]
    assert resumed.data_wait == 2 / 6
    # both steps of the second epoch, before and after the interruption
    speeds = [row["train/documents_per_second"] for row in resumed.rows]
    assert speeds == [10 / 2, 20 / 4]
