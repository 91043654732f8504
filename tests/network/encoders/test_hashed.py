"""Hashed words, against TF-IDF vectors written out."""

import numpy as np
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.network.encoders import HashedWords
from gile_lightning.network.encoders.hashed import hashed
from gile_testing.ragged import by_sentence as texts

DOCUMENTS = [[[1, 2, 3, 1]], [[4, 0], [5, 5, 6, 1]], [[7]], [[2], [], [3, 3]], [[]]]
FREQUENCIES = torch.tensor([3, 2, 5, 1, 2, 4, 1, 2])


def encoded(dim):
    encoder = HashedWords(0, dim)
    encoder.idf.build(8)
    encoder.idf.count_words(FREQUENCIES, 9)
    return encoder(torch.zeros(8, 1), texts(DOCUMENTS))


def test_products_are_those_of_tfidf_vectors():
    rows = np.zeros((len(DOCUMENTS), 8))
    for row, document in zip(rows, DOCUMENTS, strict=True):
        for word, count in zip(
            *np.unique(np.concatenate(document), return_counts=True), strict=True
        ):
            row[int(word)] = (1 + np.log(count)) * np.log(10 / (1 + int(FREQUENCIES[int(word)])))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    many = encoded(2**20)  # without collisions
    np.testing.assert_allclose(many @ many.T, rows @ rows.T, atol=1e-6)
    few = encoded(16)
    assert few.shape == (len(DOCUMENTS), 16)
    np.testing.assert_allclose(few.norm(dim=1), [1, 1, 1, 1, 0], rtol=1e-6)


def test_a_size_is_above_0():
    with pytest.raises(InputError, match="dim is 0"):
        HashedWords(0, 0)


def test_features_are_the_same_in_every_version():
    """Models that are trained depend on them: Carter and Wegman's hashes modulo 2³¹ - 1."""
    ids = [0, 5, 999_999, 2**31 - 2]
    places, signs = hashed(torch.tensor(ids), 100)
    factors = 2_654_435_761, 2_654_476_264
    hashes = [[(i + 1) * factor % 2_147_483_647 for i in ids] for factor in factors]
    assert places.tolist() == [[value % 100 for value in row] for row in hashes]
    assert signs.tolist() == [[-1 if value // 100 % 2 else 1 for value in row] for row in hashes]
