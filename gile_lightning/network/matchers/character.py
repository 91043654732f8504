"""Matching of the names of labels by parts of words."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.flat import gather_segments, segment_starts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers.bag_match import BagLabels, BagMatch, count_terms
from gile_lightning.network.matchers.matcher import EncodeTexts
from gile_lightning.network.matchers.stems import term_rarity


class CharacterMatch(BagMatch):
    """A learned scale times the cosine of document and label name as bags of character n-grams.

    It compares words that are related but have no stem in common, such as "hepatic" and
    "hepatitis", in any language, without a stemmer. The terms of `BagMatch` are the character
    n-grams of words between < and >, as in fastText (Bojanowski et al., 2017): those of 3 to 5
    characters of "liver" begin with "<li", "liv". Their documents are counted as those of all words
    that have them, N at most. The bag of a label has the n-grams of its name and its synonyms.
    N-grams that no word of the vocabulary has, and words outside of the vocabulary in documents,
    count nothing.

    Args:
        tokenizer: has the vocabulary.
        scale: the scale before training.
        synonyms: whether the n-grams of a label's synonyms are in its bag.
        shortest: characters of the shortest n-grams.
        longest: of the longest ones.
    """

    called = "parts of words"

    def __init__(
        self,
        tokenizer: Tokenizer,
        scale: float = 3.0,
        synonyms: bool = True,
        shortest: int = 3,
        longest: int = 5,
    ) -> None:
        if not 1 <= shortest <= longest:
            raise InputError(f"shortest is {shortest} and longest {longest}; give 1 <= them")
        self.sizes = shortest, longest
        self.synonyms = synonyms
        self.table = _number(tuple(tokenizer.vocabulary[:-1]), self.sizes)
        super().__init__(len(self.table.ids), scale)

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Set the idf of n-grams."""
        table = self.table
        of_grams = frequencies[:-1].repeat_interleave(table.lengths)
        self.idf.copy_(term_rarity(table.grams, of_grams, self.term_count, documents))

    def prepare_labels(
        self, tokenizer: Tokenizer, labels: LabelSet, encode: EncodeTexts
    ) -> BagLabels:
        """Count the n-grams of the labels' names and synonyms."""
        ids = self.table.ids
        bags = []
        for name, synonyms in zip(labels.names, labels.synonyms, strict=True):
            texts = (name, *(synonyms if self.synonyms else ()))
            words = chain.from_iterable(map(tokenizer.words, texts))
            grams = (gram for word in words for gram in ngrams(word, *self.sizes))
            bags.append([ids[gram] for gram in grams if gram in ids])
        empty = torch.empty(0)
        return BagLabels(count_terms(bags, empty, self.term_count, self.term_count))

    def find_terms(self, words: Tensor, labels: Any) -> tuple[Tensor, Tensor]:
        """Return the n-grams of the words of the vocabulary."""
        table = self.table
        places = (words < len(table.lengths)).nonzero().squeeze(1)
        known = words[places].long()
        grams = gather_segments(table.grams, table.starts, table.lengths, known)
        return places.repeat_interleave(table.lengths[known]), grams


def ngrams(word: str, shortest: int, longest: int) -> Iterator[str]:
    """Yield the character n-grams of a word between < and >, short ones first."""
    marked = f"<{word}>"
    for size in range(shortest, longest + 1):
        for start in range(len(marked) - size + 1):
            yield marked[start : start + size]


class _Table(NamedTuple):
    """The n-grams of V words, one word after another [N]; where each word's begin, how many [V]."""

    ids: dict[str, int]
    grams: Tensor
    starts: Tensor
    lengths: Tensor


@lru_cache(maxsize=4)
def _number(words: tuple[str, ...], sizes: tuple[int, int]) -> _Table:
    """Number the n-grams of words from 0 on."""
    ids: dict[str, int] = {}
    grams = [[ids.setdefault(gram, len(ids)) for gram in ngrams(word, *sizes)] for word in words]
    lengths = torch.tensor([*map(len, grams)], dtype=torch.long)
    flat = torch.tensor([*chain.from_iterable(grams)], dtype=torch.long)
    return _Table(ids, flat, segment_starts(lengths), lengths)
