"""The document encoder of the authors' released models."""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.data.loading.flat import segment_ids, segment_starts
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders.encoder import Encoder
from gile_lightning.released.layers import ReleasedAttention, ReleasedDense

SENTENCES = 30  # of a document
WORDS = 30  # of a sentence


class Attended(NamedTuple):
    """Document vectors [B, n] with their weights of words [B, 30, 30] and sentences [B, 30]."""

    document_vectors: Tensor
    word_attention: Tensor
    sentence_attention: Tensor


class ReleasedHAN(Encoder):
    """Hierarchical attention as released: over 30 sentences of 30 words, whatever the text.

    Longer texts are cut, shorter ones padded with zero vectors, and nothing is masked: the padding
    has states and attention weights like any word, so an empty text has a vector too. The word
    layer runs over all 900 words in one go; a recurrent one carries its state across sentences.
    `HAN` is what the paper describes.

    Args:
        input_dim: size of the word vectors.
        layer: makes each layer from its input size: `ReleasedDense`, `ReleasedGRU` or
            `ReleasedBiGRU`.
    """

    layers = ("word_layer", "sentence_layer")
    poolings = ("word_pooling", "sentence_pooling")

    def __init__(self, input_dim: int, layer: Callable[[int], nn.Module] = ReleasedDense) -> None:
        super().__init__()
        self.word_layer = layer(input_dim)
        sentence_dim = int(self.word_layer.output_dim)  # type: ignore[arg-type]
        self.word_pooling = ReleasedAttention(sentence_dim)
        self.sentence_layer = layer(sentence_dim)
        self.output_dim = int(self.sentence_layer.output_dim)  # type: ignore[arg-type]
        self.sentence_pooling = ReleasedAttention(self.output_dim)

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts of B documents as [B, output_dim]."""
        words = F.embedding(texts.words, word_vectors)
        padded = pad(words, texts.sentence_lengths, texts.document_lengths)
        return self.attend(padded).document_vectors

    def attend(self, padded: Tensor) -> Attended:
        """Encode padded word vectors [B, 900, d]; word t of sentence i is at 30 i + t."""
        states = self.word_layer(padded).unflatten(1, (SENTENCES, WORDS))
        sentences, word_attention = self.word_pooling(states)
        documents, sentence_attention = self.sentence_pooling(self.sentence_layer(sentences))
        return Attended(documents, word_attention, sentence_attention)


def pad(words: Tensor, sentence_lengths: Tensor, document_lengths: Tensor) -> Tensor:
    """Lay word vectors [N, d] of sentences [S] of documents [B] out as [B, 900, d].

    Words after the 30th of a sentence and sentences after the 30th of a document are left out.
    """
    sentences, documents = segment_ids(sentence_lengths), segment_ids(document_lengths)
    word_places = _places(sentences, sentence_lengths)
    sentence_places = _places(documents, document_lengths)[sentences]
    kept = (word_places < WORDS) & (sentence_places < SENTENCES)
    rows = (documents[sentences] * SENTENCES + sentence_places) * WORDS + word_places
    shape = len(document_lengths), SENTENCES * WORDS, words.shape[-1]
    flat = words.new_zeros(shape[0] * shape[1], shape[2])
    return flat.index_copy(0, rows[kept], words[kept]).view(shape)


def _places(ids: Tensor, lengths: Tensor) -> Tensor:
    """Return for every element how many of its segment stand before it."""
    return torch.arange(len(ids), device=ids.device) - segment_starts(lengths)[ids]
