"""The cosine of pretrained vectors."""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import Pretrained
from gile_lightning.network.matchers.matcher import UNIT, Matcher, MatcherLabels, Read


class VectorIndex(MatcherLabels):
    """The vectors of a label set [K, d], of length 1."""

    vectors: Tensor

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)

    def gather(self, ids: Tensor) -> Tensor:
        """Return the vectors of the labels ``ids`` [K]."""
        return self.vectors[ids]


class Cosine(Matcher):
    """A scale times the cosine of the vectors that a pretrained encoder makes of both.

    The encoder is the data's (``data.pretrained``), as it was trained.

    Args:
        text: how texts are encoded.
        of: what of a label is encoded: its text or its name.
        scale: what the cosine is multiplied with at the start; learned.
    """

    def __init__(
        self, text: Tokenizer, of: Literal["text", "name"] = "text", scale: float = 10.0
    ) -> None:
        super().__init__()
        self.of = of
        self.encoder = Pretrained(0)
        self.encoder.attach(text)
        self.reads = self.encoder.reads
        self.scale = nn.Parameter(torch.tensor(scale / UNIT))

    def index(self, text: Tokenizer, labels: LabelSet, read: Read) -> VectorIndex:
        """Encode the labels' texts or names."""
        texts = read(labels.texts if self.of == "text" else labels.names, self.reads)
        return VectorIndex(self._encode(texts))

    def forward(self, documents: Texts, labels: Tensor) -> Tensor:
        """Score documents against the vectors of K labels: [B, K]."""
        vectors = self._encode(documents)
        return self.scale * UNIT * (vectors @ labels.T.to(vectors.dtype))

    @torch.no_grad()
    def _encode(self, texts: Texts) -> Tensor:
        return F.normalize(self.encoder(self.scale.new_empty(0, 0), texts))
