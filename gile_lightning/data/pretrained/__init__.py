"""Pretrained sentence encoders of `sentence-transformers`, and the vectors they have made."""

from gile_lightning.data.pretrained.backends import Backend, BackendChoice
from gile_lightning.data.pretrained.keyed_vectors import VectorsDtype
from gile_lightning.data.pretrained.model import dimension, find_model
from gile_lightning.data.pretrained.subwords import Reading
from gile_lightning.data.pretrained.vectors import VectorStore

__all__ = [
    "Backend",
    "BackendChoice",
    "Reading",
    "VectorStore",
    "VectorsDtype",
    "dimension",
    "find_model",
]
