"""The end of a run by a signal, as schedulers send it: with a checkpoint and an own status."""

import signal
import threading
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Checkpoint
from lightning.pytorch.utilities.exceptions import SIGTERMException

from gile_lightning.training.checkpoint import LAST
from gile_lightning.training.length import all_steps_done, validation_is_due

_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGUSR1") if hasattr(signal, name)]


class StopSignals(Checkpoint):
    """Ends a run that gets SIGTERM or SIGUSR1, with status 128 + the signal's number.

    In training the checkpoint ``last.ckpt`` is written first, after the next optimizer step; one of
    several processes that gets the signal is enough, and all leave with the same status. After the
    last step before validation or of an epoch, in validation and in testing the run ends at once:
    the checkpoint before is the one to go on from.

    Lightning's own handlers are replaced. For SIGTERM it leaves with status 0, and under SLURM it
    answers SIGUSR1 by a checkpoint in the middle of a step, from which no run goes on exactly.

    Args:
        directory: the run folder.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / LAST
        self.received = 0  # the number of the signal

    def _listen(self, *args: Any, **kwargs: Any) -> None:
        """Take the place of Lightning's handlers, which it sets after `on_fit_start`."""
        trainer: lightning.Trainer = args[0]
        if trainer.received_sigterm:  # meanwhile
            self._receive(signal.SIGTERM)
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                signal.signal(number, self._receive)  # until the trainer restores those before

    on_sanity_check_start = on_train_start = on_validation_start = on_test_start = _listen

    def _receive(self, number: int, frame: object = None) -> None:
        self.received = self.received or number  # the first one: the others have been told of it

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Save and leave, on all processes, if one has got a signal.

        Raises:
            SIGTERMException: which leaves the process.
        """
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return  # gradients accumulated since the last step are not part of a checkpoint
        if self._stopped(trainer):
            last = trainer.fit_loop.epoch_loop.batch_progress.is_last_batch
            # from these nothing would be validated
            if not (last or all_steps_done(trainer) or validation_is_due(trainer)):
                trainer.save_checkpoint(self.path)
            self._leave()

    def on_train_epoch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Leave, on all processes, if one has got a signal; the epoch's checkpoint is written.

        Raises:
            SIGTERMException: which leaves the process.
        """
        if self._stopped(trainer):
            self._leave()

    def _stopped(self, trainer: lightning.Trainer) -> bool:
        """Tell all processes whether one of them has got a signal, and which."""
        strategy = trainer.strategy
        stopped: bool = strategy.reduce_boolean_decision(bool(self.received), all=False)
        if stopped:  # srun returns the highest status, torchrun the first one
            number = torch.tensor(self.received, device=strategy.root_device)
            self.received = int(strategy.reduce(number, reduce_op="max"))
        return stopped

    def _leave(self, *args: Any, **kwargs: Any) -> None:
        if self.received:
            raise SIGTERMException(128 + self.received)

    on_validation_batch_end = on_test_batch_end = _leave
