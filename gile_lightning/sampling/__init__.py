"""Label samplers."""

from gile_lightning.sampling.all_labels import AllLabels
from gile_lightning.sampling.hard import HardLabels
from gile_lightning.sampling.popular import PopularLabels
from gile_lightning.sampling.sampler import LabelSample, LabelSampler
from gile_lightning.sampling.shared import SharedLabels
from gile_lightning.sampling.uniform import SharedUniformLabels, UniformLabels

__all__ = [
    "AllLabels",
    "HardLabels",
    "LabelSample",
    "LabelSampler",
    "PopularLabels",
    "SharedLabels",
    "SharedUniformLabels",
    "UniformLabels",
]
