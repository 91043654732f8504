"""Softmax cross-entropy, for documents with one label each."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gile_lightning.training.losses.loss import Loss


@dataclass(frozen=True)
class SoftmaxCrossEntropy(Loss):
    """Mean over documents of - Σ_k t_k log p_k, where p = softmax of the logits of scored labels.

    t is 1 spread evenly over the labels of a document. With one label this is the usual
    cross-entropy, with several the normalised "pick all labels" loss of Menon et al. (2019). A
    label with the weight w occurs w times in the sum over labels, as if log w were added to its
    logit; one with the weight 0 does not occur. A document without a label adds nothing.

    The probabilities of a document's candidate labels sum to 1.
    """

    def __call__(self, logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Return the loss of logits, targets and weights [B, K]; see `Loss`."""
        counted = logits + weights.log()
        # not -inf: a document without a scored label would have no softmax
        lowest = torch.finfo(counted.dtype).min
        scores = counted.masked_fill(weights == 0, lowest).log_softmax(1)
        shares = targets / targets.sum(1, keepdim=True).clamp(min=1)
        return -(shares * scores.masked_fill(targets == 0, 0)).sum(1).mean()

    def log_odds(self, logits: Tensor) -> Tensor:
        """Return log(p / (1 - p)) of the softmax over all labels: [B, K] in float32."""
        scores = logits.float().log_softmax(1)
        # the largest float32 below 1 is 1 - 2⁻²⁴: the odds stay finite
        scores = scores.clamp(max=-(2.0**-24))
        return scores - torch.log(-torch.expm1(scores))
