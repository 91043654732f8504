"""Binary cross-entropy over the labels that a step scores."""

import torch.nn.functional as F
from torch import Tensor


def binary_cross_entropy(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Mean binary cross-entropy per scored label, averaged over documents (paper, Eq. 15, 17).

    Shapes: all [B, K]; ``weights`` says how often a pair counts. Each document's loss is divided
    by the number of labels scored for it, so with all labels this is the paper's 1/(N k).
    """
    losses = F.binary_cross_entropy_with_logits(logits, targets, weights, reduction="none")
    return (losses.sum(-1) / weights.sum(-1).clamp(min=1)).mean()
