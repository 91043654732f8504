"""The authors' released models: their layers, and a reader of their weight files."""

from gile_lightning.released.encoder import ReleasedHAN
from gile_lightning.released.keras import read_weights
from gile_lightning.released.layers import (
    ReleasedAttention,
    ReleasedBiGRU,
    ReleasedDense,
    ReleasedGRU,
)
from gile_lightning.released.model import ReleasedModel, ReleasedOutput

__all__ = [
    "ReleasedAttention",
    "ReleasedBiGRU",
    "ReleasedDense",
    "ReleasedGRU",
    "ReleasedHAN",
    "ReleasedModel",
    "ReleasedOutput",
    "read_weights",
]
