"""The contract of losses."""

from abc import ABC, abstractmethod

from torch import Tensor

from gile_lightning.common.factories import Configured


class Loss(Configured, ABC):
    """What a training step makes less, and how logits become probabilities by it.

    It is a mean over documents, so that several processes compute what one does.
    """

    @abstractmethod
    def __call__(self, logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Return the loss of a step.

        Args:
            logits: scores [B, K].
            targets: 1 where a document has the label [B, K].
            weights: how often a pair counts [B, K]; 0: it is not scored.
        """

    def log_odds(self, logits: Tensor) -> Tensor:
        """Return numbers whose sigmoids are the probabilities of all candidate labels [B, K].

        They rank the labels of a document as the logits do, which they are by default.
        """
        return logits
