"""Systems that look at the training documents once and need no gradient."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.systems.system import System
from gile_lightning.training.length import all_steps_done


class OnePass(System):
    """Fitted to all training documents at the end of the first epoch, which is the last.

    Args:
        kwargs: see `System`.
    """

    single_process = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.automatic_optimization = False

    @abstractmethod
    def fit(self, name: str, documents: Iterator[RaggedBatch]) -> None:
        """Fit one task to its training documents."""

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Make an optimizer of nothing, by whose steps Lightning counts batches."""
        return torch.optim.SGD([nn.Parameter(torch.zeros(0))], lr=0.0)

    def on_train_start(self) -> None:
        """Stop at once where a resumed run has been fitted."""
        if self.current_epoch:
            self.trainer.should_stop = True

    def training_step(self, batch: dict[str, RaggedBatch], batch_idx: int) -> None:
        """Fit at the last batch of the epoch; the others are for the count of documents."""
        self.optimizers().step()  # type: ignore[union-attr]
        last = batch_idx + 1 >= self.trainer.num_training_batches
        last = last or all_steps_done(self.trainer)
        if self.current_epoch or not last:
            return
        data: TextDataModule = self.trainer.datamodule  # type: ignore[attr-defined]
        for name in self.tasks:
            self.fit(name, data.training_documents(name))
        self.trainer.should_stop = True
