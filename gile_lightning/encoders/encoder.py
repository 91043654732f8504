"""The contract of document encoders."""

from abc import ABC, abstractmethod

import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.data.ragged import Texts


class Encoder(nn.Module, ABC):
    """Turns ragged texts into one vector each.

    A label description is a ragged text too, so every encoder can encode labels.

    Attributes:
        output_dim: size of the vectors.
    """

    output_dim: int

    @abstractmethod
    def forward(self, words: Tensor, sentence_lengths: Tensor, document_lengths: Tensor) -> Tensor:
        """Encode word vectors [N, d] of sentences [S] of documents [B] as [B, output_dim]."""

    def encode(self, embedding: nn.Module, texts: Texts) -> Tensor:
        """Encode word ids: look their vectors up in ``embedding``, then call `forward`."""
        words = embedding(texts.words)
        vectors: Tensor = self(words, texts.sentence_lengths, texts.document_lengths)
        return vectors


def document_words(sentence_lengths: Tensor, document_lengths: Tensor) -> Tensor:
    """Return the number of words of every document [B]."""
    words_before = F.pad(sentence_lengths.cumsum(0), (1, 0))
    ends = words_before[document_lengths.cumsum(0)]
    return ends.diff(prepend=words_before[:1])
