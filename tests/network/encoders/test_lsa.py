import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from gile_lightning.network.encoders import LSA, PPMI
from gile_testing.ragged import texts

TEXTS, WORDS = 60, 25


@pytest.fixture
def documents():
    random = np.random.default_rng(0)
    sizes = (random.integers(0, 12) for _ in range(TEXTS))
    return [(random.zipf(1.5, size).clip(1, WORDS - 1) - 1).tolist() for size in sizes]


def weights(documents, sublinear_tf):
    counts = np.array(
        [np.bincount(np.array(document, int), minlength=WORDS) for document in documents]
    )
    oracle = TfidfTransformer(sublinear_tf=sublinear_tf).fit(counts)
    oracle.idf_ = oracle.idf_ - 1  # which scikit-learn adds
    return oracle.transform(counts)


@pytest.mark.parametrize("sublinear_tf", [False, True])
def test_matrix(documents, sublinear_tf):
    found = LSA(sublinear_tf=sublinear_tf).matrix(texts(documents), WORDS)
    expected = weights(documents, sublinear_tf).toarray().T
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-5, atol=1e-7)
    assert found.dtype == np.float32


def test_a_word_of_all_texts_weighs_nothing():
    """Nor is anything stored for it, or for a text of that word alone."""
    found = LSA().matrix(texts([[0, 1], [0], [0, 2, 0]]), 3)
    assert found.nnz == 2
    assert found.toarray().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("power", [0, 0.5, 1])
def test_vectors_are_those_of_scikit_learn(documents, power):
    # with these dimensions and the ten more that are tried, the randomised method is exact
    svd = TruncatedSVD(15, algorithm="arpack").fit(weights(documents, True))
    expected = normalize(svd.components_.T * svd.singular_values_**power)
    learned = LSA(power=power).learn([texts(documents[:40])], texts(documents[40:]), WORDS, 15)
    # but for the signs of their columns
    np.testing.assert_allclose(learned @ learned.T, expected @ expected.T, atol=1e-4)
    assert learned[WORDS - 1].eq(0).all()  # of a word that occurs nowhere


@pytest.mark.parametrize(
    ("texts", "dimensions"), [(5, 16), (204, 17), (1_205, 100), (6_000, 500), (10**6, 500)]
)
def test_dimensions_grow_with_the_texts(texts, dimensions):
    assert LSA().dimensions(texts, 500) == dimensions
    assert PPMI().dimensions(texts, 500) == 500
    assert LSA().dimensions(texts, 8) == 8
