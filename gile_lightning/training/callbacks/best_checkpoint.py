"""The checkpoint of the best epoch."""

import lightning
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor


class BestCheckpoint(ModelCheckpoint):
    """Keeps the best epoch; of several with the same score the last one, which has trained longest.

    A few validation documents are soon ranked without a mistake. From then on the score tells
    nothing, but the model still learns.
    """

    @property
    def state_key(self) -> str:
        """The key in checkpoints: that of runs from before there was this class."""
        return super().state_key.replace("BestCheckpoint", "ModelCheckpoint", 1)

    def check_monitor_top_k(
        self, trainer: lightning.Trainer, current: Tensor | None = None
    ) -> bool:
        """Return whether an epoch is at least as good as the best one before it."""
        if current is not None and self.best_k_models:
            same = bool(current == self.best_k_models[self.kth_best_model_path])
            if trainer.strategy.reduce_boolean_decision(same):
                return True
        return super().check_monitor_top_k(trainer, current)
