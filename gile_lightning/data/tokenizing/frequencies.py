"""Document frequencies of words."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.data.loading.ragged import RaggedBatch, Texts


def count_pairs(rows: Tensor, ids: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct pairs of rows [N] and ids [N] below ``size``, in order; their counts."""
    pairs, counts = torch.unique(rows * size + ids, return_counts=True)
    return pairs // size, pairs % size, counts


def word_pairs(texts: Texts | RaggedBatch, words: int) -> tuple[Tensor, Tensor, Tensor]:
    """Count the words of every text.

    Args:
        texts: B texts.
        words: V, the size of the vocabulary.

    Returns:
        The texts [P], words [P] and counts [P] of the pairs that occur, ordered by text, then word.
    """
    documents = segment_ids(texts.document_lengths)[segment_ids(texts.sentence_lengths)]
    return count_pairs(documents, texts.words, words)


def document_frequencies(batches: Iterable[Texts | RaggedBatch], words: int) -> tuple[Tensor, int]:
    """Count the documents that have each word.

    Args:
        batches: the documents.
        words: V, the size of the vocabulary.

    Returns:
        The counts [V], and the number of documents.
    """
    frequencies, documents = torch.zeros(words, dtype=torch.long), 0
    for batch in batches:
        frequencies += word_pairs(batch, words)[1].bincount(minlength=words)
        documents += len(batch.document_lengths)
    return frequencies, documents


def inverse_frequencies(frequencies: Tensor, documents: int) -> Tensor:
    """Return ln((1 + n) / (1 + df)) of document frequencies df [V] among n documents.

    This is scikit-learn's smoothed idf without the 1 that it adds: punctuation marks are words, and
    a word of all documents weighs nothing. Words of no document weigh most.
    """
    return math.log1p(documents) - frequencies.double().log1p()


def term_rarity(terms: Tensor, frequencies: Tensor, size: int, documents: int) -> Tensor:
    """Return log((1 + N) / (1 + n)) for every term [size].

    n is about the number of the N documents that have the term: the sum of those of its words, at
    most N. Documents that have several words of a term count several times.

    Args:
        terms: a term of some word each [M].
        frequencies: documents that have this word [M].
        size: above the id of every term.
        documents: N.
    """
    counts = frequencies.new_zeros(size).index_add_(0, terms, frequencies)
    return inverse_frequencies(counts.clamp(max=documents), documents).float()
