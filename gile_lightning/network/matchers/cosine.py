"""The cosine of pretrained vectors."""

from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.data.loading.flat import send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import Pretrained
from gile_lightning.network.matchers.matcher import (
    LOGIT_SCALE,
    EncodeTexts,
    Matcher,
    MatcherLabels,
)


class CosineLabels(MatcherLabels):
    """The vectors of a label set [K, d], of length 1."""

    vectors: Tensor

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)

    def select(self, ids: Tensor) -> Tensor:
        """Return the vectors of the labels ``ids`` [K]."""
        return self.vectors[send(ids, self.vectors.device)]


class Cosine(Matcher):
    """A learned scale times the cosine of pretrained vectors of document and label.

    The frozen sentence encoder is the one of the data (``data.pretrained``).

    Args:
        tokenizer: splits texts into the subwords of the sentence encoder.
        of: what is encoded of a label: its text or its name.
        scale: the scale before training.
    """

    inputs = frozenset({"vectors"})
    _called: ClassVar[dict[str, str]] = {
        "text": "pretrained vectors",
        "name": "pretrained vectors of names",
    }

    def __init__(
        self, tokenizer: Tokenizer, of: Literal["text", "name"] = "text", scale: float = 10.0
    ) -> None:
        super().__init__()
        self.of = of
        self.called = self._called[of]
        self.encoder = Pretrained(0)
        self.encoder.set_tokenizer(tokenizer)
        self.scale = nn.Parameter(torch.tensor(scale / LOGIT_SCALE))

    def prepare_labels(
        self, tokenizer: Tokenizer, labels: LabelSet, encode: EncodeTexts
    ) -> CosineLabels:
        """Encode the labels' texts or names."""
        texts = encode(labels.texts if self.of == "text" else labels.names, self.encoder.inputs)
        return CosineLabels(self._vectors(texts))

    def forward(self, documents: Texts, labels: Tensor) -> Tensor:
        """Score documents against the vectors of K labels: [B, K]."""
        vectors = self._vectors(documents)
        return self.scale * LOGIT_SCALE * (vectors @ labels.T.to(vectors.dtype))

    @torch.no_grad()
    def _vectors(self, texts: Texts) -> Tensor:
        return F.normalize(self.encoder(self.scale.new_empty(0, 0), texts))
