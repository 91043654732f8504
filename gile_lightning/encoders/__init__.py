"""Document encoders and the layers they are made of."""

from gile_lightning.encoders.concatenation import Concatenation
from gile_lightning.encoders.embedding import WordEmbedding
from gile_lightning.encoders.encoder import Encoder, Sharing
from gile_lightning.encoders.han import HAN, HNN
from gile_lightning.encoders.layers import GRU, BiGRU, Dense
from gile_lightning.encoders.mean import Mean
from gile_lightning.encoders.pooling import AttentionPooling, AveragePooling, SumPooling
from gile_lightning.encoders.pretrained import Pretrained
from gile_lightning.encoders.wan import WAN

__all__ = [
    "GRU",
    "HAN",
    "HNN",
    "WAN",
    "AttentionPooling",
    "AveragePooling",
    "BiGRU",
    "Concatenation",
    "Dense",
    "Encoder",
    "Mean",
    "Pretrained",
    "Sharing",
    "SumPooling",
    "WordEmbedding",
]
