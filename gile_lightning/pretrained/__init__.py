"""Pretrained sentence encoders of `sentence-transformers`, and the vectors they have made."""

from gile_lightning.pretrained.model import dimension, find_model
from gile_lightning.pretrained.vectors import VectorStore

__all__ = ["VectorStore", "dimension", "find_model"]
