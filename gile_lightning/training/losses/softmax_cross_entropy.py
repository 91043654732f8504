"""Softmax cross-entropy, for documents with one label of many."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gile_lightning.training.losses.loss import Loss


@dataclass(frozen=True)
class SoftmaxCrossEntropy(Loss):
    """Mean over documents of - Σ_k t_k log p_k, where p = softmax of the logits of scored labels.

    t spreads 1 evenly over the labels of a document: with one label this is the usual
    cross-entropy, with several the normalised "pick all labels" loss of Menon et al. (2019). A
    label that counts w times stands w times in the sum over labels, as if log w were added to its
    logit; one with the weight 0 is left out. A document without a label adds nothing.

    The probabilities of a document's candidate labels sum to 1, over whatever labels are scored.
    """

    def __call__(self, logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Return the loss of logits, targets and weights [B, K]; see `Loss`."""
        counted = logits + weights.log()
        # the lowest number, as a document without any scored label has no softmax of -inf
        lowest = torch.finfo(counted.dtype).min
        scores = counted.masked_fill(weights == 0, lowest).log_softmax(-1)
        shares = targets / targets.sum(-1, keepdim=True).clamp(min=1)
        return -(shares * scores.masked_fill(targets == 0, 0)).sum(-1).mean()

    def log_odds(self, logits: Tensor) -> Tensor:
        """Return log(p / (1 - p)) of the softmax over all labels: [B, K] in float32."""
        scores = logits.float().log_softmax(-1)
        # the largest float32 below 1 is 1 - 2⁻²⁴: odds that stay finite
        scores = scores.clamp(max=-(2.0**-24))
        return scores - torch.log(-torch.expm1(scores))
