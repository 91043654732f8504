"""The best epoch of one of several languages."""

from typing import Any

import lightning

from gile_lightning.training.callbacks.best_checkpoint import BestCheckpoint


class LanguageCheckpoint(BestCheckpoint):
    """Keeps the best epoch of one of several languages, as a model of that language alone.

    If every such file held all languages, a run would keep all word vectors once per language.

    Args:
        language: its name.
        kwargs: see `BestCheckpoint`.
    """

    def __init__(self, language: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.language = language

    def _save_checkpoint(self, trainer: lightning.Trainer, filepath: str) -> None:
        trainer.save_checkpoint(filepath, False, {"language": self.language})
        self._last_global_step_saved = trainer.global_step
        self._last_checkpoint_saved = filepath
