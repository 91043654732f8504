"""Word vectors from latent semantic analysis."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gile_lightning.common.errors import positive
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.frequencies import (
    document_frequencies,
    inverse_frequencies,
    word_pairs,
)
from gile_lightning.network.encoders.corpus_vectors import CorpusVectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array


LEAST = 16  # dimensions: vectors of one or two are all alike once they are normalised


@dataclass(frozen=True, kw_only=True)
class LSA(CorpusVectors):
    """Latent semantic analysis: words of the same texts get the same vector.

    The columns of M are the TF-IDF vectors of the texts, documents and label texts alike, scaled to
    length 1. A word that occurs c times in a text, and in df of the n texts, weighs
    (1 + ln c) ln((1 + n) / (1 + df)). (Deerwester et al., 1990, JASIS 41.) See `CorpusVectors`.

    Few texts have few directions in common. With as many dimensions as texts each document stands
    by itself, and a model learns the training documents by heart. So the embedding of a small
    corpus gets fewer dimensions than its ``dim``.

    Args:
        sublinear_tf: whether the first factor is 1 + ln c, not c.
        texts_per_dimension: the fewest texts, of documents and labels, for each dimension.
        kwargs: see `CorpusVectors`.
    """

    sublinear_tf: bool = True
    texts_per_dimension: int = 12

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(texts_per_dimension=self.texts_per_dimension)

    def dimensions(self, texts: int, dim: int) -> int:
        """Return for how many of ``dim`` dimensions a number of texts is enough; 16 at least."""
        return min(dim, max(LEAST, texts // self.texts_per_dimension))

    def matrix(self, texts: Texts, words: int) -> "csr_array":
        """Return M [V, texts]."""
        from scipy.sparse import csr_array

        rows, ids, counts = (column.numpy() for column in word_pairs(texts, words))
        idf = inverse_frequencies(*document_frequencies([texts], words)).numpy()
        tf = 1 + np.log(counts) if self.sublinear_tf else counts
        weights = tf * idf[ids]
        shape = words, len(texts.document_lengths)
        lengths = np.sqrt(np.bincount(rows, weights**2, minlength=shape[1]))
        some = weights > 0
        weights = (weights[some] / lengths[rows[some]]).astype(np.float32)
        return csr_array((weights, (ids[some], rows[some])), shape=shape)
