"""The word-level attention network."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.data.loading.flat import send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders.encoder import Attention, Encoder, pool_words
from gile_lightning.network.encoders.layers import Dense
from gile_lightning.network.encoders.pooling import AttentionPooling, attends
from gile_lightning.network.encoders.segments import document_words


class WAN(Encoder):
    """A layer over all words of a document, and one pooling of the states.

    The paper's document encoder for BioASQ (section 4.1): `Dense` states and attention over them.
    A text without a word gives zeros.

    Args:
        input_dim: size of the word vectors.
        layer: makes the layer from its input size: `Dense` (paper), `GRU` or `BiGRU`. Recurrent
            layers run over all words of a document, across its sentences.
        pooling: makes the pooling from the size of the states: `AttentionPooling` (paper) or
            `SumPooling` (the authors' released code).
    """

    layers = ("layer",)
    poolings = ("pooling",)

    def __init__(
        self,
        input_dim: int,
        layer: Callable[[int], nn.Module] = Dense,
        pooling: Callable[[int], nn.Module] = AttentionPooling,
    ) -> None:
        super().__init__()
        self.layer = layer(input_dim)
        self.output_dim = int(self.layer.output_dim)  # type: ignore[arg-type]
        self.pooling = pooling(self.output_dim)

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts of B documents as [B, output_dim]."""
        lengths = document_words(texts.sentence_lengths, texts.document_lengths)
        return pool_words(self.layer, self.pooling, word_vectors, texts.words, lengths)

    def attention(self, word_vectors: Tensor, texts: Texts) -> Attention | None:
        """Return the weights of the words in their documents."""
        if not attends(self.pooling):
            return None
        lengths = document_words(texts.sentence_lengths, texts.document_lengths)
        states = self.layer(
            F.embedding(send(texts.words, word_vectors.device), word_vectors), lengths
        )
        return Attention(self.pooling.weights(states, lengths))
