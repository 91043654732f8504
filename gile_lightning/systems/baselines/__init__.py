"""What a user would pick instead: systems to compare a model with."""

from gile_lightning.systems.baselines.aitextml import AiTextML
from gile_lightning.systems.baselines.cosine import TfidfCosine
from gile_lightning.systems.baselines.one_versus_rest import OneVersusRest
from gile_lightning.systems.baselines.popularity import Popularity

__all__ = ["AiTextML", "OneVersusRest", "Popularity", "TfidfCosine"]
