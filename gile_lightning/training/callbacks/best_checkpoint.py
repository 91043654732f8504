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
        candidates: the last so many epochs compete alone, as far as training gets to them. Of many
            epochs and few validation documents one with a high learning rate is the best by
            chance. None: all epochs do.
        kwargs: see Lightning's ``ModelCheckpoint``.
    """

    def __init__(self, candidates: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.candidates = candidates
        self._begun = candidates is None  # whether the candidates have

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint holds of the callback."""
        return super().state_dict() | {"candidates_have_begun": self._begun}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on as a checkpoint says; in those of earlier versions all epochs compete."""
        super().load_state_dict(state_dict)
        self._begun = state_dict.get("candidates_have_begun", True)

    @property
    def state_key(self) -> str:
        """The key in checkpoints: that of runs from before there was this class."""
        return super().state_key.replace("BestCheckpoint", "ModelCheckpoint", 1)

    def check_monitor_top_k(
        self, trainer: lightning.Trainer, current: Tensor | None = None
    ) -> bool:
        """Return whether an epoch is at least as good as the best one that it competes with."""
        if not self._begun and trainer.current_epoch >= first_candidate(trainer, self.candidates):
            self._begun = True
            return True
        if current is not None and self.best_k_models:
            same = bool(current == self.best_k_models[self.kth_best_model_path])
            if trainer.strategy.reduce_boolean_decision(same):
                return True
        return super().check_monitor_top_k(trainer, current)


def first_candidate(trainer: lightning.Trainer, candidates: int | None) -> int:
    """Return the first epoch that competes, if the last ``candidates`` do."""
    return 0 if candidates is None else max(0, (trainer.max_epochs or 0) - candidates)
