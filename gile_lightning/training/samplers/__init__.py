"""Label samplers: they choose the labels that a training step scores."""

from gile_lightning.training.samplers.all_labels import AllLabels
from gile_lightning.training.samplers.hard import HardLabels
from gile_lightning.training.samplers.popular import PopularLabels
from gile_lightning.training.samplers.sampler import LabelSample, LabelSampler
from gile_lightning.training.samplers.shared import SharedLabels
from gile_lightning.training.samplers.shared_uniform import SharedUniformLabels
from gile_lightning.training.samplers.uniform import UniformLabels

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
