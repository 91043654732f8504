"""The contract of losses."""

from abc import ABC, abstractmethod

from torch import Tensor

from gile_lightning.common.factories import Configured


class Loss(Configured, ABC):
    """Compares logits with targets, and tells which probabilities the logits mean.

    It is a mean over documents, so that several processes compute the same as one.
    """

    @abstractmethod
    def __call__(self, logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Return the loss of a step.

        Args:
            logits: scores [B, K].
            targets: 1 where a document has the label [B, K].
            weights: how often a pair counts [B, K]; 0 means not at all.
        """

    def log_odds(self, logits: Tensor) -> Tensor:
        """Return the log-odds of all candidate labels [B, K]: their sigmoids are probabilities.

        They rank the labels of a document as the logits do. By default they are the logits.
        """
        return logits
