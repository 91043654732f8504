"""The checkpoint of the best epoch."""

import shutil
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor

from gile_lightning.common.console import is_first


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
        """Go on as a checkpoint says; in those of earlier versions all epochs compete.

        The best epoch so far still competes where the run has moved to another folder.
        """
        super().load_state_dict(self._here(state_dict))
        self.first = state_dict.get("first_candidate", 0)

    def _here(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return a state with the paths of this folder, into which a best epoch may be copied."""
        before = state["best_model_path"]
        if state.get("dirpath") in (None, self.dirpath) or self.dirpath is None:
            return state
        if not before:  # no epoch is done
            return state | {"dirpath": self.dirpath, "last_model_path": ""}
        best = Path(self.dirpath) / Path(before).name
        if not best.exists() and not Path(before).exists():
            return state  # Lightning warns that epochs compete anew
        if not best.exists() and is_first():
            best.parent.mkdir(parents=True, exist_ok=True)
            copied = best.with_suffix(".part")
            shutil.copyfile(before, copied)
            copied.replace(best)
        here = {path: str(Path(self.dirpath) / Path(path).name) for path in state["best_k_models"]}
        return state | {
            "dirpath": self.dirpath,
            "best_model_path": str(best),
            "kth_best_model_path": here.get(state["kth_best_model_path"], ""),
            "best_k_models": {here[path]: score for path, score in state["best_k_models"].items()},
            "last_model_path": "",
        }

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
            kept = self.best_k_models[self.kth_best_model_path]
            # NaN, of documents without such a label, is kept as the worst number that there is
            same = bool(current == kept) or bool(current.isnan() and torch.as_tensor(kept).isinf())
            if trainer.strategy.reduce_boolean_decision(same):
                return True
        return super().check_monitor_top_k(trainer, current)
