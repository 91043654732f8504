"""Callbacks that end a run at a chosen moment; imported by the runs that the tests start."""

import os
import signal
import sys

import lightning


class Crash(lightning.Callback):
    """Ends the process at a hook, once the trainer has made a number of steps.

    It does so by an error, or by a signal such as ``SIGKILL``, which is sent once.
    """

    def __init__(
        self, step: int, hook: str = "on_train_batch_end", sent: str = "", batch: int = 0
    ) -> None:
        self.step, self.sent, self.batch, self.batches = step, sent, batch, 0
        setattr(self, hook, self._crash)

    def _crash(self, trainer, *args, **kwargs):
        self.batches += 1
        late = trainer.global_step >= self.step and self.batches > self.batch
        if late and not trainer.sanity_checking:
            if not self.sent:
                raise RuntimeError("crash")
            os.kill(os.getpid(), getattr(signal, self.sent))
            self.step = sys.maxsize
