"""Output layers."""

from gile_lightning.outputs.gile import GILE, matched_dim
from gile_lightning.outputs.layer import OutputLayer
from gile_lightning.outputs.linear import Linear

__all__ = ["GILE", "Linear", "OutputLayer", "matched_dim"]
