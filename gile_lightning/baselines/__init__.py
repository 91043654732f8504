"""What a user would pick instead: systems to compare a model with."""

from gile_lightning.baselines.aitextml import AiTextML
from gile_lightning.baselines.cosine import TfidfCosine
from gile_lightning.baselines.one_versus_rest import OneVersusRest
from gile_lightning.baselines.popularity import Popularity

__all__ = ["AiTextML", "OneVersusRest", "Popularity", "TfidfCosine"]
