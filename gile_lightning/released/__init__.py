"""The authors' released models: their layers, and a reader and a writer of their files."""

from gile_lightning.released.encoder import ReleasedHAN
from gile_lightning.released.keras import read_weights
from gile_lightning.released.layers import (
    ReleasedAttention,
    ReleasedBiGRU,
    ReleasedDense,
    ReleasedGRU,
)
from gile_lightning.released.model import ReleasedModel, ReleasedOutput
from gile_lightning.released.writing import write_weights

__all__ = [
    "ReleasedAttention",
    "ReleasedBiGRU",
    "ReleasedDense",
    "ReleasedGRU",
    "ReleasedHAN",
    "ReleasedModel",
    "ReleasedOutput",
    "read_weights",
    "write_weights",
]
