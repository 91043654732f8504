"""Losses over all labels or a sample of them."""

from gile_lightning.training.losses.binary_cross_entropy import BinaryCrossEntropy
from gile_lightning.training.losses.loss import Loss
from gile_lightning.training.losses.softmax_cross_entropy import SoftmaxCrossEntropy

__all__ = ["BinaryCrossEntropy", "Loss", "SoftmaxCrossEntropy"]
