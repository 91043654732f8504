"""Losses over all or sampled labels."""

from gile_lightning.losses.binary_cross_entropy import binary_cross_entropy

__all__ = ["binary_cross_entropy"]
