from collections import Counter
from math import log

import numpy as np
import pytest

from gile_lightning.network.encoders import PPMI, ppmi
from gile_testing.ragged import texts


def test_by_hand():
    """Sentences "a b a" and "b c": the pairs ab 2, ba 2, aa 2 (at distance 2), bc 1, cb 1."""
    matrix = PPMI(window=2, smoothing=1).matrix(texts([[0, 1, 0], [1, 2]]), 4)
    # 8 pairs; a is in 4, b in 3, c in 1
    expected = np.zeros((4, 4))
    expected[0, 0] = log(2 * 8 / (4 * 4))  # 0
    expected[0, 1] = expected[1, 0] = log(2 * 8 / (4 * 3))
    expected[1, 2] = expected[2, 1] = log(1 * 8 / (3 * 1))
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-6)
    assert matrix.nnz == 4  # the zero is not stored
    assert matrix.dtype == np.float32


def test_smoothing_and_shift_by_hand():
    matrix = PPMI(window=2, smoothing=0.5, shift=1.2).matrix(texts([[0, 1, 0], [1, 2]]), 4)
    total = 4**0.5 + 3**0.5 + 1  # of smoothed counts of contexts
    expected = np.zeros((4, 4))
    for word, context, pairs, of_word, of_context in (
        (0, 0, 2, 4, 4),
        (0, 1, 2, 4, 3),
        (1, 0, 2, 3, 4),
        (1, 2, 1, 3, 1),
        (2, 1, 1, 1, 3),
    ):
        probability = of_context**0.5 / total
        expected[word, context] = max(0, log(pairs / of_word / probability) - log(1.2))
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-5, atol=1e-7)


def test_words_that_are_no_contexts():
    """The contexts are a and b: the pair bc counts for c alone, which makes 7 pairs."""
    matrix = PPMI(window=2, smoothing=1, contexts=2).matrix(texts([[0, 1, 0], [1, 2]]), 3)
    expected = np.zeros((3, 2))
    expected[0, 1] = log(2 * 7 / (4 * 3))
    expected[1, 0] = log(2 * 7 / (2 * 4))
    expected[2, 1] = log(1 * 7 / (1 * 3))
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-6)


def test_five_words_on_each_side_by_default():
    """Of the 42 pairs of seven words, the two of the first and the last are too far apart."""
    assert PPMI(smoothing=1).matrix(texts([[*range(7)]]), 7).nnz == 40


def test_a_hundred_thousand_contexts_by_default():
    assert PPMI().matrix(texts([[0, 1]]), 100_001).shape == (100_001, 100_000)


@pytest.mark.parametrize("chunk", [1, 64, 10_000])
@pytest.mark.parametrize("contexts", [4, 12])
def test_counts_are_those_of_a_loop(monkeypatch, chunk, contexts):
    monkeypatch.setattr(ppmi, "CHUNK", chunk)
    random = np.random.default_rng(0)
    sentences = [random.integers(0, 10, n).tolist() for n in (0, 1, 9, 2, 0, 30, 5)]
    flat = [word for sentence in sentences for word in sentence]
    frequencies = Counter(flat)
    kept = sorted(sorted(range(12), key=lambda word: (-frequencies[word], word))[:contexts])
    expected = np.zeros((12, contexts))
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for j in range(max(0, i - 3), min(len(sentence), i + 4)):
                if j != i and sentence[j] in kept:
                    expected[word, kept.index(sentence[j])] += 1
    columns = np.full(12, -1)
    columns[kept] = np.arange(contexts)
    places = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])
    found = ppmi.count_neighbours(np.array(flat), places, columns, (12, contexts), 3)
    assert (found.toarray() == expected).all()
    again = ppmi.count_neighbours(np.array(flat), -places, columns, (12, contexts), 3)
    assert (again.toarray() == expected).all()  # however sentences are numbered
    assert PPMI(contexts=contexts).matrix(texts(sentences), 12).shape == expected.shape


def test_texts_without_pairs():
    assert PPMI().matrix(texts([[1], [], [2]]), 3).nnz == 0
    assert PPMI().learn([texts([[1], []])], texts([[2]]), 3, 2).eq(0).all()
