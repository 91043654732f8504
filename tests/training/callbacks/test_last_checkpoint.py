from types import SimpleNamespace

from gile_lightning.training.callbacks import LastCheckpoint


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
