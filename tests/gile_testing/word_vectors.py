"""Words with vectors, and what reading a file of them gives or refuses."""

import numpy as np
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.word_vectors import read_word_vectors

WORDS = ["the", "ψυχή", "naïve", "Ã©", "\u200c", "the"]  # the last is there twice
VECTORS = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)


def expect(path, words=WORDS, vectors=VECTORS):
    found = read_word_vectors(path)
    assert found.words == list(words)
    assert found.vectors.dtype == np.float32
    np.testing.assert_array_equal(found.vectors, vectors)


def refuse(path, message):
    with pytest.raises(InputError, match=message) as error:
        read_word_vectors(path)
    assert str(error.value).startswith(str(path))
