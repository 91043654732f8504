import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.frequencies import (
    document_frequencies,
    inverse_frequencies,
    word_pairs,
)

DOCUMENTS = ["a b a|b", "c", "", "|a", "d d d|d a b"]  # sentences of words
LETTERS = ["a", "b", "c", "d", "e"]


def texts(documents):
    sentences = [document.split("|") if document else [] for document in documents]
    words = [[s.split() for s in document] for document in sentences]
    flat = [LETTERS.index(word) for document in words for s in document for word in s]
    return Texts(
        torch.tensor(flat, dtype=torch.int32),
        torch.tensor([len(s) for document in words for s in document]),
        torch.tensor([len(document) for document in words]),
    )


def counted():
    counter = CountVectorizer(vocabulary=LETTERS, token_pattern=r"\w")
    return counter.transform(document.replace("|", " ") for document in DOCUMENTS).toarray()


def test_word_pairs():
    found = np.zeros((len(DOCUMENTS), len(LETTERS)), dtype=int)
    documents, words, counts = word_pairs(texts(DOCUMENTS), len(LETTERS))
    found[documents, words] = counts
    assert (found == counted()).all()
    assert len(counts) == (counted() > 0).sum()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_document_frequencies(size):
    frequencies, documents = document_frequencies(texts(DOCUMENTS).split(size), len(LETTERS))
    assert frequencies.tolist() == (counted() > 0).sum(0).tolist() == [3, 2, 1, 1, 0]
    assert documents == 5


def test_inverse_frequencies():
    """Scikit-learn's, but for the 1 that it adds."""
    expected = TfidfTransformer().fit(counted()).idf_ - 1
    found = inverse_frequencies(*document_frequencies([texts(DOCUMENTS)], len(LETTERS)))
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


def test_a_word_that_all_documents_have():
    assert inverse_frequencies(torch.tensor([7]), 7).tolist() == [0]
