"""Label samplers."""

from gile_lightning.sampling.all_labels import AllLabels
from gile_lightning.sampling.sampler import LabelSample, LabelSampler
from gile_lightning.sampling.uniform import SharedUniformLabels, UniformLabels

__all__ = ["AllLabels", "LabelSample", "LabelSampler", "SharedUniformLabels", "UniformLabels"]
