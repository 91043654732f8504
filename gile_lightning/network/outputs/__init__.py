"""Output layers: they score document vectors against labels."""

from gile_lightning.network.outputs.ablations import GILEOnlyInput, GILEOnlyLabel
from gile_lightning.network.outputs.bilinear import Bilinear, JointBilinear
from gile_lightning.network.outputs.gile import GILE, matched_dim
from gile_lightning.network.outputs.layer import OutputLayer
from gile_lightning.network.outputs.linear import Linear
from gile_lightning.network.outputs.matchers_only import MatchersOnly

__all__ = [
    "GILE",
    "Bilinear",
    "GILEOnlyInput",
    "GILEOnlyLabel",
    "JointBilinear",
    "Linear",
    "MatchersOnly",
    "OutputLayer",
    "matched_dim",
]
