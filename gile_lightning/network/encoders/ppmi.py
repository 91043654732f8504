"""Word vectors from positive pointwise mutual information."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders.corpus_vectors import CorpusVectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHUNK = 2**20  # words whose neighbours are counted at a time


@dataclass(frozen=True, kw_only=True)
class PPMI(CorpusVectors):
    """Positive pointwise mutual information: words with the same neighbours get the same vector.

    M_wc = max(0, ln(P(w, c) / (P(w) P_s(c))) - ln k). The pair (w, c) counts once for every
    occurrence of c at most ``window`` words before or after w in the same sentence.
    P_s(c) ∝ count(c)^s is the smoothed distribution of contexts. (Levy & Goldberg, 2014, NeurIPS;
    Levy, Goldberg & Dagan, 2015, TACL, section 3.1.) See `CorpusVectors`.

    Args:
        window: the largest distance of a context, in words.
        smoothing: s; 1 for none.
        shift: k, 1 for none; it corresponds to the number of negative samples in word2vec.
        contexts: the number of words, the most frequent ones, that are contexts.
        kwargs: see `CorpusVectors`.
    """

    window: int = 5
    smoothing: float = 0.75
    shift: float = 1.0
    contexts: int = 100_000

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(window=self.window, smoothing=self.smoothing, contexts=self.contexts)
        if self.shift < 1:
            raise InputError(f"shift is {self.shift:g}; 1, for none, or more")

    def matrix(self, texts: Texts, words: int) -> "csr_array":
        """Return M [V, contexts]; its columns are the most frequent words."""
        from scipy.sparse import csr_array

        ids = texts.words.numpy().astype(np.int64)
        sentences = segment_ids(texts.sentence_lengths).numpy()
        columns, count = self._columns(ids, words)
        pairs = count_neighbours(ids, sentences, columns, (words, count), self.window)
        of_words, of_contexts = pairs.sum(axis=1), pairs.sum(axis=0)
        smoothed = of_contexts**self.smoothing
        smoothed /= max(1.0, smoothed.sum())
        rows = np.repeat(np.arange(words), np.diff(pairs.indptr))
        expected = of_words[rows] * smoothed[pairs.indices] * self.shift
        information = np.log(pairs.data / expected).astype(np.float32)
        matrix = csr_array((information.clip(min=0), pairs.indices, pairs.indptr), pairs.shape)
        matrix.eliminate_zeros()
        return matrix

    def _columns(self, ids: NDArray[np.int64], words: int) -> tuple[NDArray[np.int64], int]:
        """Return the column of each word [V], -1 if it is no context, and the number of columns."""
        frequencies = np.bincount(ids, minlength=words)
        count = min(self.contexts, words)
        frequent = np.sort(np.argsort(-frequencies, kind="stable")[:count])
        columns = np.full(words, -1)
        columns[frequent] = np.arange(count)
        return columns, count


def count_neighbours(
    ids: NDArray[np.int64],
    sentences: NDArray[np.int64],
    columns: NDArray[np.int64],
    shape: tuple[int, int],
    window: int,
) -> "csr_array":
    """Count how often each word has each context near it in its sentence.

    Args:
        ids: the words [N] of all texts.
        sentences: the sentence of each [N].
        columns: the column of each word as a context [V], -1 for none.
        shape: numbers of words and of columns.
        window: the largest distance.

    Returns:
        The counts, float64.
    """
    from scipy.sparse import csr_array

    total = csr_array(shape, dtype=np.float64)
    for start in range(0, len(ids), CHUNK):
        codes = []
        stop = start + CHUNK
        for distance in range(1, window + 1):
            here, there = slice(start, stop), slice(start + distance, stop + distance)
            size = len(ids[there])
            near = sentences[here][:size] == sentences[there]
            left, right = ids[here][:size][near], ids[there][near]
            codes += [
                _codes(left, columns[right], shape[1]),
                _codes(right, columns[left], shape[1]),
            ]
        pairs, counts = np.unique(np.concatenate(codes), return_counts=True)
        places = tuple(place.astype(np.int32) for place in divmod(pairs, shape[1]))
        total += csr_array((counts.astype(np.float64), places), shape=shape)
    return total


def _codes(rows: NDArray[np.int64], columns: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Number the cells of a matrix of the given width, without those in no column."""
    there = columns >= 0
    codes: NDArray[np.int64] = rows[there] * width + columns[there]
    return codes
