import signal
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.utilities.exceptions import SIGTERMException

from gile_lightning.training.callbacks import StopSignals


class Trainer(SimpleNamespace):
    """A trainer of one process; notes the batches after which it saves."""

    def __init__(self, callback, batches, accumulated=1):
        self.callback, self.batches, self.saved = callback, batches, []
        self.progress = SimpleNamespace(is_last_batch=False)
        super().__init__(
            max_steps=-1,
            global_step=1,
            accumulate_grad_batches=accumulated,
            validated=(),  # batches after which validation is due
            fit_loop=SimpleNamespace(
                _data_fetcher="data",
                epoch_loop=SimpleNamespace(
                    batch_progress=self.progress,
                    _should_check_val_fx=lambda data: self.batch in self.validated,
                ),
            ),
            strategy=SimpleNamespace(
                root_device="cpu",
                reduce_boolean_decision=lambda decision, all: decision,
                reduce=lambda number, reduce_op: number,
            ),
        )

    def save_checkpoint(self, path):
        self.saved.append((self.batch, path))

    def epoch(self, signalled=None):
        """Train an epoch in which a signal comes before a batch."""
        for batch in range(self.batches):
            self.batch = batch
            if batch == signalled:
                self.callback._receive(signal.SIGUSR1, None)
            self.progress.is_last_batch = batch == self.batches - 1
            self.callback.on_train_batch_end(self, None, None, None, batch)


def test_it_saves_nothing_after_the_last_step(tmp_path):
    """The run does the steps since the checkpoint before it again, and is validated."""
    trainer = Trainer(StopSignals(tmp_path), batches=9, accumulated=3)
    trainer.max_steps = 1
    with pytest.raises(SIGTERMException):
        trainer.epoch(0)
    assert trainer.saved == []
    trainer.max_steps, trainer.validated = -1, (2,)
    with pytest.raises(SIGTERMException):
        trainer.epoch()
    assert (trainer.batch, trainer.saved) == (2, [])


@pytest.mark.parametrize(
    ("signalled", "last", "saved"), [(0, 2, True), (2, 2, True), (3, 5, True), (7, 8, False)]
)
def test_it_saves_after_the_next_step_within_an_epoch(tmp_path, signalled, last, saved):
    """A step has three batches. The end of an epoch has a checkpoint of its own."""
    trainer = Trainer(StopSignals(tmp_path), batches=9, accumulated=3)
    trainer.epoch()
    with pytest.raises(SIGTERMException) as stop:
        trainer.epoch(signalled)
    assert stop.value.args == (128 + signal.SIGUSR1,)
    assert trainer.batch == last
    assert trainer.saved == ([(last, tmp_path / "checkpoints/last.ckpt")] if saved else [])


def test_it_leaves_at_the_end_of_an_epoch_too(tmp_path):
    callback = StopSignals(tmp_path)
    trainer = Trainer(callback, batches=1)
    callback.on_train_epoch_end(trainer, None)
    callback._receive(signal.SIGTERM, None)
    with pytest.raises(SIGTERMException):
        callback.on_train_epoch_end(trainer, None)
    assert not trainer.saved


@pytest.mark.parametrize(
    ("own", "other"), [(0, signal.SIGUSR1), (signal.SIGUSR1, 0), (signal.SIGUSR1, signal.SIGTERM)]
)
def test_all_of_several_processes_leave_with_one_status(tmp_path, own, other):
    """One that has got a signal is enough."""
    callback = StopSignals(tmp_path)
    trainer = Trainer(callback, batches=2)
    trainer.strategy.reduce_boolean_decision = lambda decision, all: not all
    trainer.strategy.reduce = lambda number, reduce_op: getattr(torch, reduce_op)(
        number, torch.tensor(int(other))
    )
    callback.received = own
    with pytest.raises(SIGTERMException) as stop:
        callback.on_train_epoch_end(trainer, None)
    assert stop.value.args == (128 + max(own, other),)


def test_the_first_signal_counts(tmp_path):
    """The second may come while the checkpoint is written."""
    callback = StopSignals(tmp_path)
    for number in (signal.SIGUSR1, signal.SIGTERM):
        callback._receive(number, None)
    with pytest.raises(SIGTERMException) as stop:
        callback._leave()
    assert stop.value.args == (128 + signal.SIGUSR1,)
