import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfTransformer

from gile_lightning.network.encoders import IdfMean
from gile_lightning.network.encoders.idf import damping
from gile_testing.ragged import texts

# words of documents; everyone has the word 4
DOCUMENTS = [[0, 1, 0, 4, 0], [4], [4, 2, 2, 1], [3, 4]]
WORDS, DIM = 6, 3


def counts(documents):
    return np.array([np.bincount(np.array(d, dtype=int), minlength=WORDS) for d in documents])


def fitted(**options):
    encoder = IdfMean(DIM, **options)
    encoder.idf.build(WORDS)
    encoder.idf.count_words(torch.tensor((counts(DOCUMENTS) > 0).sum(0)), len(DOCUMENTS))
    return encoder.double()


@pytest.fixture
def table():
    return torch.randn(WORDS, DIM, generator=torch.Generator().manual_seed(2)).double()


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("sublinear_tf", [False, True])
def test_weighted_mean(table, sublinear_tf, learned):
    """Scikit-learn's TF-IDF weights, without the 1 that it adds and with a sum of 1."""
    oracle = TfidfTransformer(sublinear_tf=sublinear_tf, norm="l1").fit(counts(DOCUMENTS))
    oracle.idf_ = oracle.idf_ - 1
    documents = [*DOCUMENTS, [], [5, 0, 0], [4, 4]]  # the last but one has an unknown word
    expected = oracle.transform(counts(documents)).toarray() @ table.numpy()
    found = fitted(sublinear_tf=sublinear_tf, learned=learned)(table, texts(documents))
    # the weights are kept in float32
    np.testing.assert_allclose(found.detach(), expected, rtol=1e-6, atol=1e-7)
    assert found[[1, 4, 6]].eq(0).all()  # nothing but what all documents have


def test_learned_weights_are_stored(table):
    encoder = fitted(learned=True)
    with torch.no_grad():
        encoder.idf.logarithms.copy_(torch.arange(WORDS) / 10)
    other = IdfMean(DIM, learned=True)
    other.idf.build(WORDS)
    other.load_state_dict(encoder.state_dict())
    ids = torch.tensor([0, 3])
    weights = np.log(5 / np.array([2, 2])) * np.exp([0, 0.3])  # each in one of four documents
    np.testing.assert_allclose(other.idf(ids).detach(), weights, rtol=1e-6)
    expected = weights / weights.sum() @ table[ids].numpy()
    found = other.double()(table, texts([[0, 3]]))[0]
    np.testing.assert_allclose(found.detach(), expected, rtol=1e-6)


def test_weights_are_not_learned_by_default():
    assert not list(fitted().parameters())


def test_no_word_is_known_before_the_vocabulary_is():
    with pytest.raises(IndexError):
        IdfMean(DIM).idf(torch.tensor([0]))


def test_words_are_counted_in_their_own_document_alone():
    """Also where there are more documents than words."""
    words = torch.tensor([1, 1, *[0] * 8])
    lengths = torch.tensor([2, *[1] * 8])
    expected = [(1 + np.log(2)) / 2] * 2 + [1] * 8
    assert damping(words, lengths, 8).tolist() == pytest.approx(expected)
