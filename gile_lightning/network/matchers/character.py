"""Matching of the names of labels by character n-grams."""

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.flat import gather_segments, segment_starts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers.bag_match import BagLabels, BagMatch, count_terms
from gile_lightning.network.matchers.matcher import EncodeTexts
from gile_lightning.network.matchers.stems import term_rarity

NO_WORD = "\ufffd"  # in what stands for a word that no text can have; see `unambiguous`


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
        if not 1 <= shortest <= longest:
            raise InputError(
                f"shortest is {shortest} and longest {longest}; give 1 <= shortest <= longest"
            )
        words = tokenizer.vocabulary[:-1]
        if tokenizer.known_words_only:  # as a file has them, which may be in upper case
            words = [word.lower() for word in words]
        table = _number(tuple(words), shortest, longest)
        super().__init__(len(table.ids), scale)
        self.table = table
        self.synonyms = synonyms
        self.sizes = shortest, longest

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Set the idf of n-grams."""
        table = self.table
        of_grams = frequencies[:-1].repeat_interleave(table.lengths)
        self.idf.copy_(term_rarity(table.grams, of_grams, self.term_count, documents))

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
        table = self.table
        places = (words < len(table.lengths)).nonzero().squeeze(1)
        known = words[places].long()
        grams = gather_segments(table.grams, table.starts, table.lengths, known)
        return places.repeat_interleave(table.lengths[known]), grams.long()


def ngrams(word: str, shortest: int, longest: int) -> Iterator[str]:
    """Yield the character n-grams of a word between < and >, short ones first."""
    marked = f"<{word}>"
    for size in range(shortest, longest + 1):
        for start in range(len(marked) - size + 1):
            yield marked[start : start + size]


class _Table(NamedTuple):
    """The n-grams of V words, one word after another.

    ``ids`` has the number of each n-gram. Shapes, on the host: ``grams`` [N] are these numbers;
    ``starts`` [V], where those of each word begin; ``lengths`` [V], how many a word has.
    """

    ids: Mapping[str, int]
    grams: Tensor
    starts: Tensor
    lengths: Tensor

    def __deepcopy__(self, memo: Any) -> "_Table":
        return self  # it never changes, and may be large


@lru_cache(maxsize=1)
def _number(words: tuple[str, ...], shortest: int, longest: int) -> _Table:
    """Number the n-grams of words from 0 on."""
    ids: dict[str, int] = {}
    grams: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    for word in words:
        found = () if NO_WORD in word else ngrams(word, shortest, longest)
        grams.append(np.array([ids.setdefault(gram, len(ids)) for gram in found], np.int32))
    # through NumPy, as a default device may be one without memory
    lengths = torch.from_numpy(np.array([*map(len, grams[1:])], np.int64))
    return _Table(ids, torch.from_numpy(np.concatenate(grams)), segment_starts(lengths), lengths)
