"""The mean of the word vectors."""

from torch import Tensor

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders.encoder import Encoder
from gile_lightning.network.encoders.segments import document_words, segment_mean


class Mean(Encoder):
    """The mean of a text's word vectors; zeros for an empty text.

    The paper's label encoder (section 2.2) and, for documents, its NN baseline.

    Args:
        input_dim: size of the word vectors.
    """

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts of B documents as [B, d]."""
        lengths = document_words(texts.sentence_lengths, texts.document_lengths)
        return segment_mean(word_vectors, lengths, texts.words)
