"""Hashed n-grams, against vectors written out word by word."""

import math
from collections import Counter

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.hashed_ngrams import HashedNgrams, scattered
from gile_testing.ragged import by_sentence as texts

WORDS = ["liver", "live", "a", "ab"]
TOKENIZER = Tokenizer([*WORDS, "UNK"])
UNKNOWN = len(WORDS)
FREQUENCIES, DOCUMENTS = torch.tensor([3, 2, 8, 1, 9]), 9
TEXTS = [[[0, 1, 0]], [[1], [3, 0]], [[2, 2]], [[UNKNOWN]], [[]]]


def ngrams(word):
    marked = f"<{word}>"
    return [marked[i : i + n] for n in (3, 4, 5) for i in range(len(marked) - n + 1)]


def bags():
    """The bag of n-grams of each text, weighted and of length 1."""
    counted = Counter()
    for word, count in zip(WORDS, FREQUENCIES.tolist(), strict=False):
        for gram in ngrams(word):
            counted[gram] += count
    found = []
    for document in TEXTS:
        bag = Counter()
        for word, count in Counter(word for line in document for word in line).items():
            for gram in ngrams(WORDS[word]) if word != UNKNOWN else ():
                idf = math.log((1 + DOCUMENTS) / (1 + min(counted[gram], DOCUMENTS)))
                bag[gram] += (1 + math.log(count)) * idf
        norm = math.sqrt(sum(value**2 for value in bag.values())) or 1.0
        found.append({gram: value / norm for gram, value in bag.items()})
    return found


def features(dim):
    encoder = HashedNgrams(dim, TOKENIZER)
    encoder.build(len(TOKENIZER.vocabulary))
    encoder.count_words(FREQUENCIES, DOCUMENTS)
    return encoder.features(texts(TEXTS))


def test_products_are_those_of_bags_of_ngrams():
    expected = [[sum(a[g] * b[g] for g in a if g in b) for b in bags()] for a in bags()]
    found = features(2**20)  # without collisions
    torch.testing.assert_close(found @ found.T, torch.tensor(expected), rtol=0, atol=1e-6)
    assert 0.1 < expected[0][1] < 0.9  # forms of a word
    assert expected[0][2] == 0


def test_few_features():
    norms = features(64).norm(dim=1)
    torch.testing.assert_close(norms, torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0]))


def test_a_size_is_above_0():
    with pytest.raises(InputError, match="dim is 0"):
        HashedNgrams(0, TOKENIZER)


def test_features_are_the_same_in_every_version():
    """Models that are trained depend on them."""
    expected = []
    for number in (0, 1, 77, 2**31):
        for _ in range(2):
            number = ((number ^ (number >> 16)) * 0x45D9F3B) % 2**32
        expected.append((number ^ (number >> 16)) // 2)
    assert scattered(torch.tensor([0, 1, 77, 2**31])).tolist() == expected
    assert len(scattered(torch.arange(100_000)).unique()) > 99_990
