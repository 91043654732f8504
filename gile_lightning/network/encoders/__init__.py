"""Document encoders and the layers they are made of."""

from gile_lightning.network.encoders.concatenation import Concatenation
from gile_lightning.network.encoders.corpus_vectors import CorpusVectors
from gile_lightning.network.encoders.embedding import WordEmbedding
from gile_lightning.network.encoders.encoder import Encoder, Sharing
from gile_lightning.network.encoders.han import HAN, HNN
from gile_lightning.network.encoders.hashed import HashedWords
from gile_lightning.network.encoders.idf import Idf, IdfMean
from gile_lightning.network.encoders.layers import GRU, BiGRU, Dense
from gile_lightning.network.encoders.lsa import LSA
from gile_lightning.network.encoders.mean import Mean
from gile_lightning.network.encoders.pooling import AttentionPooling, AveragePooling, SumPooling
from gile_lightning.network.encoders.ppmi import PPMI
from gile_lightning.network.encoders.pretrained import Pretrained
from gile_lightning.network.encoders.wan import WAN

__all__ = [
    "GRU",
    "HAN",
    "HNN",
    "LSA",
    "PPMI",
    "WAN",
    "AttentionPooling",
    "AveragePooling",
    "BiGRU",
    "Concatenation",
    "CorpusVectors",
    "Dense",
    "Encoder",
    "HashedWords",
    "Idf",
    "IdfMean",
    "Mean",
    "Pretrained",
    "Sharing",
    "SumPooling",
    "WordEmbedding",
]
