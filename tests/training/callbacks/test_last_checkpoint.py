from types import SimpleNamespace

import pytest
import torch

from gile_lightning.training.callbacks import (
    BestCheckpoint,
    LastCheckpoint,
    StopSignals,
    last_checkpoint,
)


@pytest.mark.parametrize(
    ("batches", "accumulated", "most", "validated", "steps"),
    [
        (5, 1, -1, (), [3, 5, 6, 9, 10]),
        (5, 1, 9, (), [3, 5, 6, 10]),  # the last step is not validated yet
        (18, 3, -1, (), [3, 6, 9, 12]),
        (5, 1, -1, (3, 6, 7), [4, 5, 8, 9, 10]),  # the step after validation
        (18, 3, -1, (3,), [4, 6, 9, 12]),
        (5, 1, -1, (3, 4), [5, 6, 9, 10]),
    ],
)
def test_every_so_many_steps_and_after_each_epoch(
    tmp_path, batches, accumulated, most, validated, steps
):
    saved = []
    callback = LastCheckpoint(tmp_path, every_n_train_steps=3)
    progress = SimpleNamespace(is_last_batch=False)
    trainer = SimpleNamespace(
        global_step=0,
        max_steps=most,
        accumulate_grad_batches=accumulated,
        fit_loop=SimpleNamespace(
            _data_fetcher="data",
            epoch_loop=SimpleNamespace(
                batch_progress=progress,
                _should_check_val_fx=lambda data: trainer.global_step in validated,
            ),
        ),
        save_checkpoint=lambda path: saved.append((trainer.global_step, path)),
    )
    for _ in range(2):
        for batch in range(batches):
            trainer.global_step += (batch + 1) % accumulated == 0
            progress.is_last_batch = batch == batches - 1
            callback.on_train_batch_end(trainer, None, None, None, batch)
        callback.on_train_epoch_end(trainer, None)
    assert [step for step, _ in saved] == steps
    assert {path for _, path in saved} == {tmp_path / "checkpoints/last.ckpt"}


@pytest.mark.parametrize(
    ("ready", "completed", "is_last", "expected"),
    [
        (7, 6, False, (4, 3)),  # saved within the end of a batch, then with more processes
        (2, 1, False, (4, 3)),
        (7, 7, False, (4, 4)),
        (4, 3, False, (4, 3)),  # nothing has changed
        (7, 7, True, (9, 9)),  # at the end of an epoch all batches are done
    ],
)
def test_batches_are_counted_as_the_loader_cuts_them(tmp_path, ready, completed, is_last, expected):
    """The loader has 9 batches, 4 of which are done."""

    class Loader:
        done = 4

        def __len__(self):
            return 9

    current = SimpleNamespace(ready=ready, started=ready, processed=ready, completed=completed)
    progress = SimpleNamespace(current=current, is_last_batch=is_last)
    trainer = SimpleNamespace(
        fit_loop=SimpleNamespace(epoch_loop=SimpleNamespace(batch_progress=progress)),
        train_dataloader=Loader(),
    )
    LastCheckpoint(tmp_path, 1).on_train_start(trainer, None)
    batches, done = expected
    assert vars(current) == {
        "ready": batches, "started": batches, "processed": batches, "completed": done,
    }  # fmt: skip


def test_disk_space_is_told_before_training(tmp_path, monkeypatch):
    """It is that of three files of torch.save, one of which replaces another."""
    told = []
    monkeypatch.setattr(last_checkpoint, "tell_space", lambda *given: told.append(given))
    model = torch.nn.Sequential(torch.nn.Linear(300, 400), torch.nn.Linear(400, 500))
    model[1].requires_grad_(False)
    model.register_buffer("counts", torch.zeros(50_000, dtype=torch.int64))
    last = LastCheckpoint(tmp_path, 1)
    kept = [BestCheckpoint(dirpath=tmp_path), last, StopSignals(tmp_path)]
    trainer = SimpleNamespace(is_global_zero=True, checkpoint_callbacks=kept)
    last.on_fit_start(trainer, model)
    optimizer = torch.optim.Adam(model[0].parameters())
    model[0](torch.ones(1, 300)).sum().backward()
    optimizer.step()
    torch.save((model.state_dict(), optimizer.state_dict()), tmp_path / "file")
    one = (tmp_path / "file").stat().st_size
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "file").rename(tmp_path / "checkpoints/last.ckpt")
    last.on_fit_start(trainer, model)  # of a run that goes on
    for (what, size, folder, _), files in zip(told, (3, 2), strict=True):
        assert (what, folder) == ("checkpoints", tmp_path)
        assert size == pytest.approx(files * one, rel=0.01)
