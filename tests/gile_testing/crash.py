"""Callbacks that end a run at a chosen moment; imported by the runs that the tests start."""

import os
import signal

import lightning


class Crash(lightning.Callback):
    """Ends the process at a hook, once the trainer has made a number of steps."""

    def __init__(
        self, step: int, hook: str = "on_train_batch_end", kill: bool = False, batch: int = 0
    ) -> None:
        self.step, self.kill, self.batch, self.batches = step, kill, batch, 0
        setattr(self, hook, self._crash)

    def _crash(self, trainer, *args, **kwargs):
        self.batches += 1
        late = trainer.global_step >= self.step and self.batches > self.batch
        if late and not trainer.sanity_checking:
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("crash")
