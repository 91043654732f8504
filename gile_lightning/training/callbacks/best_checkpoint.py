"""The checkpoint of the best epoch."""

from typing import Any

import lightning
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor


class BestCheckpoint(ModelCheckpoint):
    """Keeps the best epoch; of several with the same score the last one, which has trained longest.

    A few validation documents are soon ranked without a mistake. From then on the score tells
    nothing, but the model still learns.

    Args:
        candidates: the last so many epochs compete alone, as of many epochs and few validation
            documents one with a high learning rate may be the best by chance. None: all do. So
            they do if training ends before it gets to these; soon after, few have competed.
        kwargs: see Lightning's ``ModelCheckpoint``.

    Attributes:
        first: the first epoch that competes; None until training gets to it.
    """

    first: int | None

    def __init__(self, candidates: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.candidates = candidates
        self.first = 0 if candidates is None else None

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint holds of the callback."""
        return super().state_dict() | {"first_candidate": self.first}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on as a checkpoint says; in those of earlier versions all epochs compete."""
        super().load_state_dict(state_dict)
        self.first = state_dict.get("first_candidate", 0)

    @property
    def state_key(self) -> str:
        """The key in checkpoints: that of runs from before there was this class."""
        return super().state_key.replace("BestCheckpoint", "ModelCheckpoint", 1)

    def check_monitor_top_k(
        self, trainer: lightning.Trainer, current: Tensor | None = None
    ) -> bool:
        """Return whether an epoch is at least as good as the best one that it competes with."""
        if self.first is None and current is not None:
            first = (trainer.max_epochs or 0) - (self.candidates or 0)
            if trainer.current_epoch >= first:
                self.first = trainer.current_epoch
                return True
        if current is not None and self.best_k_models:
            same = bool(current == self.best_k_models[self.kth_best_model_path])
            if trainer.strategy.reduce_boolean_decision(same):
                return True
        return super().check_monitor_top_k(trainer, current)
