"""Binary cross-entropy over the labels that a step scores."""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from gile_lightning.training.losses.loss import Loss


@dataclass(frozen=True)
class BinaryCrossEntropy(Loss):
    """Mean binary cross-entropy per scored label, averaged over documents (paper, Eq. 15, 17).

    Each document's loss is divided by the number of labels scored for it; with all labels this is
    the paper's 1/(N k). The probability of a label is the sigmoid of its logit.
    """

    def __call__(self, logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Return the loss of logits, targets and weights [B, K]; see `Loss`."""
        losses = F.binary_cross_entropy_with_logits(logits, targets, weights, reduction="none")
        return (losses.sum(1) / weights.sum(1).clamp(min=1)).mean()
