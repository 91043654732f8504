"""Matching of the names of labels by character n-grams."""

from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.ngrams import NgramTable, ngrams
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers.bag_match import BagLabels, BagMatch, count_terms
from gile_lightning.network.matchers.matcher import EncodeTexts


class CharacterMatch(BagMatch):
    """A learned scale times the cosine of document and label name as bags of character n-grams.

    It compares words that are related but have no stem in common, such as "abdomen" and
    "abdominal", and needs no stemmer. The terms of `BagMatch` are the character n-grams of words
    between < and >, as in fastText (Bojanowski et al., 2017): those of 3 to 5
    characters of "liver" begin with "<li", "liv". The documents of an n-gram are those of all words
    that have it, added up (twice those of a word that has it twice), and N at most. The bag of a
    label has the n-grams of its name and its synonyms, words outside the vocabulary among them.
    N-grams that no word of the vocabulary has, and words outside the vocabulary in documents, count
    nothing.

    Args:
        tokenizer: has the vocabulary.
        scale: the scale before training.
        synonyms: whether the n-grams of a label's synonyms are in its bag.
        shortest: characters of the shortest n-grams.
        longest: of the longest ones.
    """

    called = "character n-grams"

    def __init__(
        self,
        tokenizer: Tokenizer,
        scale: float = 3.0,
        synonyms: bool = True,
        shortest: int = 3,
        longest: int = 5,
    ) -> None:
        table = NgramTable.of(tokenizer, shortest, longest)
        super().__init__(len(table.ids), scale)
        self.table = table
        self.synonyms = synonyms
        self.sizes = shortest, longest

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Set the idf of n-grams."""
        self.idf.copy_(self.table.rarity(frequencies, documents))

    def prepare_labels(
        self, tokenizer: Tokenizer, labels: LabelSet, encode: EncodeTexts
    ) -> BagLabels:
        """Count the n-grams of the labels' names and synonyms."""
        ids, sizes = self.table.ids, self.sizes

        @cache  # as many labels have the same words
        def grams_of(word: str) -> NDArray[np.int64]:
            return np.array([ids[x] for x in ngrams(word, *sizes) if x in ids], dtype=np.int64)

        found, lengths = [np.empty(0, dtype=np.int64)], []
        for name, synonyms in zip(labels.names, labels.synonyms, strict=True):
            texts = (name, *(synonyms if self.synonyms else ()))
            grams = [grams_of(word) for word in chain.from_iterable(map(tokenizer.tokens, texts))]
            found += grams
            lengths.append(sum(map(len, grams)))
        terms = torch.from_numpy(np.concatenate(found))
        bags = count_terms(terms, torch.from_numpy(np.array(lengths, np.int64)), self.term_count)
        return BagLabels(bags)

    def find_terms(self, words: Tensor, labels: Any) -> tuple[Tensor, Tensor]:
        """Return the n-grams of the words of the vocabulary."""
        return self.table.of_words(words)
