"""Hierarchical networks: words make sentences, sentences make a document."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.data.loading.flat import send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders.encoder import Attention, Encoder, pool_words
from gile_lightning.network.encoders.layers import Dense
from gile_lightning.network.encoders.pooling import AttentionPooling, AveragePooling, attends
from gile_lightning.network.encoders.segments import document_words


class HAN(Encoder):
    """Hierarchical attention: a layer and a pooling over words, then both again over sentences.

    The paper's document encoder for the Deutsche Welle corpus (section 2.1, Eq. 1 and 2). A
    sentence without a word changes nothing; a text without a word gives zeros.

    Args:
        input_dim: size of the word vectors.
        layer: makes each layer from its input size: `Dense`, `GRU` or `BiGRU`.
        pooling: makes each pooling from the size of the states.
    """

    layers = ("word_layer", "sentence_layer")
    poolings = ("word_pooling", "sentence_pooling")

    def __init__(
        self,
        input_dim: int,
        layer: Callable[[int], nn.Module] = Dense,
        pooling: Callable[[int], nn.Module] = AttentionPooling,
    ) -> None:
        super().__init__()
        self.word_layer = layer(input_dim)
        sentence_dim = int(self.word_layer.output_dim)  # type: ignore[arg-type]
        self.word_pooling = pooling(sentence_dim)
        self.sentence_layer = layer(sentence_dim)
        self.output_dim = int(self.sentence_layer.output_dim)  # type: ignore[arg-type]
        self.sentence_pooling = pooling(self.output_dim)

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts of B documents as [B, output_dim]."""
        lengths, counts = _without_empty(texts.sentence_lengths, texts.document_lengths)
        layer, pooling = self.word_layer, self.word_pooling
        sentences = pool_words(layer, pooling, word_vectors, texts.words, lengths)
        documents: Tensor = self.sentence_pooling(self.sentence_layer(sentences, counts), counts)
        return documents

    def attention(self, word_vectors: Tensor, texts: Texts) -> Attention | None:
        """Return the weights of words in their sentences, and of sentences in their documents."""
        words, sentences = self.word_pooling, self.sentence_pooling
        if not (attends(words) and attends(sentences)):
            return None
        lengths, counts = _without_empty(texts.sentence_lengths, texts.document_lengths)
        states = self.word_layer(
            F.embedding(send(texts.words, word_vectors.device), word_vectors), lengths
        )
        vectors = self.sentence_layer(words(states, lengths), counts)
        of_sentences = states.new_zeros(len(texts.sentence_lengths))
        of_sentences[send(texts.sentence_lengths, states.device) > 0] = sentences.weights(
            vectors, counts
        )
        return Attention(words.weights(states, lengths), of_sentences)


def _without_empty(sentence_lengths: Tensor, document_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Leave out sentences without a word."""
    has_words = sentence_lengths > 0
    return sentence_lengths[has_words], document_words(has_words.long(), document_lengths)


class HNN(HAN):
    """A `HAN` that averages instead of attending: the paper's hierarchical baseline.

    Args:
        input_dim: size of the word vectors.
        layer: makes each layer from its input size: `Dense`, `GRU` or `BiGRU`.
    """

    def __init__(self, input_dim: int, layer: Callable[[int], nn.Module] = Dense) -> None:
        super().__init__(input_dim, layer, AveragePooling)
