"""Word vectors from positive pointwise mutual information."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.loading.ragged import Texts, segment_ids
from gile_lightning.network.encoders.corpus_vectors import CorpusVectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHUNK = 2**20  # words whose neighbours are counted at a time


@dataclass(frozen=True, kw_only=True)
class PPMI(CorpusVectors):
    """Words with the same neighbours get the same vector (Levy & Goldberg, 2014, NeurIPS).

    M_wc = max(0, ln(P(w, c) / (P(w) P_s(c))) - ln k), where the pair (w, c) counts once for every
    time that c is at most ``window`` words before or behind w in the same sentence, and
    P_s(c) ∝ count(c)^s is the smoothed distribution of contexts (Levy, Goldberg & Dagan, 2015,
    TACL, section 3.1). See `CorpusVectors`.

    Args:
        window: words on either side of a word that are its contexts.
        smoothing: s; 1 for none.
        shift: k, 1 for none; that many negative samples would do the same in word2vec.
        contexts: only so many words, the most frequent ones, are contexts.
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
        """Return M [V, contexts], whose columns are the most frequent words."""
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
        """Give the words that are contexts a column each, all others -1."""
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
    """Count how often a word has another, or itself, near it in its sentence.

    Args:
        ids: the words [N] of all texts.
        sentences: the sentence [N] of each.
        columns: the column [V] of each word as a context, -1 for none.
        shape: number of words and of columns.
        window: the greatest distance.

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
        places = tuple(part.astype(np.int32) for part in divmod(pairs, shape[1]))
        total += csr_array((counts.astype(np.float64), places), shape=shape)
    return total


def _codes(rows: NDArray[np.int64], columns: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Number the places of a matrix, without those in no column."""
    there = columns >= 0
    codes: NDArray[np.int64] = rows[there] * width + columns[there]
    return codes
