"""Bags of words: sparse counts of the words of texts, and their TF-IDF weights."""

from collections.abc import Iterable

import numpy as np
import torch
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer
from torch import Tensor, nn

from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer


def flat_counts(rows: Tensor, columns: Tensor, shape: tuple[int, int]) -> csr_array:
    """Count the pairs (row, column), each [N]: a sparse matrix, float64."""
    ones = np.ones(len(rows))
    # 32 bits, as LIBLINEAR wants them
    pairs = (rows.cpu().numpy().astype(np.int32), columns.cpu().numpy().astype(np.int32))
    return csr_array((ones, pairs), shape=shape)


def word_counts(texts: Texts, words: int) -> csr_array:
    """Count the words of every text: [B, words].

    Args:
        texts: B texts.
        words: of the vocabulary, without its last one, `UNKNOWN`, which is not counted.
    """
    documents = segment_ids(texts.document_lengths)[segment_ids(texts.sentence_lengths)]
    known = texts.words < words
    shape = (len(texts.document_lengths), words)
    return flat_counts(documents[known], texts.words[known], shape)


def label_counts(tokenizer: Tokenizer, labels: LabelSet, name_weight: int = 0) -> csr_array:
    """Count the words of the text of every label, and ``name_weight`` times those of its name."""
    words = len(tokenizer.vocabulary) - 1
    counts = word_counts(Texts.from_flat(*tokenizer.labels(labels.texts)), words)
    if name_weight:
        names = word_counts(Texts.from_flat(*tokenizer.labels(labels.names)), words)
        counts += name_weight * names
    return counts


class TfIdf(nn.Module):
    """TF-IDF vectors of length 1: scikit-learn's `TfidfTransformer`, within a model.

    The weight of a word that occurs c times in a text, and in df of the n training documents, is

        (1 + ln c) * ln((1 + n) / (1 + df)),

    divided by the length of the vector. Scikit-learn's logarithm has 1 added to it; here
    punctuation marks are words, and what all documents have weighs nothing. A text without a word
    of some weight has the zero vector.

    Args:
        words: V - 1, those of the vocabulary without `UNKNOWN`.
        sublinear_tf: have 1 + ln c, not c, as the first factor.
    """

    def __init__(self, words: int, sublinear_tf: bool = True) -> None:
        super().__init__()
        self.sublinear_tf = sublinear_tf
        self.idf = nn.Parameter(torch.ones(words), requires_grad=False)

    def fit(self, counts: Iterable[csr_array]) -> None:
        """Take the document frequencies of the training documents' word counts [n, V - 1] each."""
        documents, frequencies = 0, np.zeros(len(self.idf))
        for some in counts:
            documents += some.shape[0]
            frequencies += np.diff(some.tocsc().indptr)
        idf = np.log((1 + documents) / (1 + frequencies))
        self.idf.copy_(torch.from_numpy(idf))

    def forward(self, counts: csr_array) -> csr_array:
        """Weight word counts [B, V - 1]."""
        transformer = TfidfTransformer(sublinear_tf=self.sublinear_tf)
        transformer.idf_ = self.idf.cpu().numpy().astype(np.float64)
        return csr_array(transformer.transform(counts))
