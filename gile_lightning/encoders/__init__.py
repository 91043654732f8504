"""Document encoders and the layers they are made of."""

from gile_lightning.encoders.embedding import WordEmbedding
from gile_lightning.encoders.encoder import Encoder
from gile_lightning.encoders.layers import Dense
from gile_lightning.encoders.mean import Mean
from gile_lightning.encoders.pooling import AttentionPooling, SumPooling
from gile_lightning.encoders.wan import WAN

__all__ = ["WAN", "AttentionPooling", "Dense", "Encoder", "Mean", "SumPooling", "WordEmbedding"]
