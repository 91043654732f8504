"""Output layers."""

from gile_lightning.outputs.ablations import GILEOnlyInput, GILEOnlyLabel
from gile_lightning.outputs.bilinear import Bilinear, JointBilinear
from gile_lightning.outputs.channels_only import ChannelsOnly
from gile_lightning.outputs.gile import GILE, matched_dim
from gile_lightning.outputs.layer import OutputLayer
from gile_lightning.outputs.linear import Linear

__all__ = [
    "GILE",
    "Bilinear",
    "ChannelsOnly",
    "GILEOnlyInput",
    "GILEOnlyLabel",
    "JointBilinear",
    "Linear",
    "OutputLayer",
    "matched_dim",
]
