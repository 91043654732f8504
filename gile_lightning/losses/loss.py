"""Losses that say how logits become probabilities."""

from abc import ABC, abstractmethod

from torch import Tensor


class Loss(ABC):
    """A loss whose probabilities are not the sigmoids of logits.

    Of other losses, which may be plain functions, they are.
    """

    @abstractmethod
    def __call__(self, logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Return the loss of a step.

        Args:
            logits: scores [B, K].
            targets: 1 where a document has the label [B, K].
            weights: how often a pair counts [B, K]; 0: it is not scored.
        """

    @abstractmethod
    def log_odds(self, logits: Tensor) -> Tensor:
        """Return numbers whose sigmoids are the probabilities of all candidate labels [B, K].

        They rank the labels of a document as the logits do.
        """
