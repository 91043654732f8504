"""Words hashed into a fixed number of features."""

import torch
import torch.nn.functional as F
from torch import Tensor

from gile_lightning.common.errors import positive
from gile_lightning.data.loading.flat import segment_ids, send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders.encoder import Encoder
from gile_lightning.network.encoders.idf import Idf, damping
from gile_lightning.network.encoders.segments import document_words

_FACTORS = (2_654_435_761, 2_654_476_264)  # of multiplicative hashing, one for each place
_PRIME = 2**31 - 1


class HashedWords(Encoder):
    """The TF-IDF vector of a text, of length 1, with words hashed into features.

    A word that occurs c times counts 1 + ln c times its inverse document frequency. It adds that,
    with a sign, to two of the features; places and signs are hashes of its id. So the product of
    two vectors is nearly that of the TF-IDF vectors (Weinberger et al., 2009, ICML).

    Word vectors are not used.

    Args:
        input_dim: unused.
        dim: the number of features.
    """

    def __init__(self, input_dim: int, dim: int = 2048) -> None:
        positive(dim=dim)
        super().__init__()
        self.output_dim = dim
        self.idf = Idf()

    @property
    def reads_word_vectors(self) -> bool:
        """No: it needs the ids of words alone."""
        return False

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts of B documents as [B, d]."""
        lengths = document_words(texts.sentence_lengths, texts.document_lengths)
        ids = send(texts.word_ids, self.idf.weights.device).long()
        weights = self.idf(ids) * damping(ids, lengths, len(self.idf.weights))
        rows = segment_ids(lengths, ids) * self.output_dim
        features = weights.new_zeros(len(lengths) * self.output_dim)
        for places, signs in zip(*hashed(ids, self.output_dim), strict=True):
            features.index_add_(0, rows + places, weights * signs)
        return F.normalize(features.view(len(lengths), self.output_dim))


def hashed(ids: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return the two features below ``dim`` of terms [N]: places [2, N] and signs [2, N]."""
    hashes = torch.stack([(ids + 1) * factor % _PRIME for factor in _FACTORS])
    return hashes % dim, 1 - 2 * (hashes // dim % 2)
