"""Character n-grams of words."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.flat import gather_segments, segment_starts
from gile_lightning.data.tokenizing.frequencies import term_rarity
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

NO_WORD = "\ufffd"  # in what stands for a word that no text can have; see `unambiguous`


def ngrams(word: str, shortest: int, longest: int) -> Iterator[str]:
    """Yield the character n-grams of a word between < and >, short ones first."""
    marked = f"<{word}>"
    for size in range(shortest, longest + 1):
        for start in range(len(marked) - size + 1):
            yield marked[start : start + size]


class NgramTable(NamedTuple):
    """The n-grams of V words, one word after another.

    ``ids`` has the number of each n-gram. Shapes, on the host: ``grams`` [N] are these numbers;
    ``starts`` [V], where those of each word begin; ``lengths`` [V], how many a word has.
    """

    ids: Mapping[str, int]
    grams: Tensor
    starts: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, tokenizer: Tokenizer, shortest: int, longest: int) -> "NgramTable":
        """Number the n-grams of the words of a vocabulary.

        Args:
            tokenizer: has the vocabulary.
            shortest: characters of the shortest n-grams.
            longest: of the longest ones.

        Raises:
            InputError: these are in the wrong order, or below 1.
        """
        if not 1 <= shortest <= longest:
            raise InputError(
                f"shortest is {shortest} and longest {longest}; give 1 <= shortest <= longest"
            )
        words = tokenizer.vocabulary[:-1]
        if tokenizer.known_words_only:  # as a file has them, which may be in upper case
            words = [word.lower() for word in words]
        return _number(tuple(words), shortest, longest)

    def of_words(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Return the n-grams of words [N], given as ids, on the host; others than the V have none.

        Returns:
            The places of words [M], ascending, and the number of an n-gram of each [M].
        """
        places = (words < len(self.lengths)).nonzero().squeeze(1)
        known = words[places].long()
        grams = gather_segments(self.grams, self.starts, self.lengths, known)
        return places.repeat_interleave(self.lengths[known]), grams.long()

    def rarity(self, frequencies: Tensor, documents: int) -> Tensor:
        """Return the `term_rarity` of all n-grams.

        Args:
            frequencies: documents that have each word of the vocabulary [V + 1].
            documents: N.
        """
        of_grams = frequencies[:-1].repeat_interleave(self.lengths)
        return term_rarity(self.grams, of_grams, len(self.ids), documents)

    def __deepcopy__(self, memo: Any) -> "NgramTable":
        return self  # it never changes, and may be large


@lru_cache(maxsize=1)
def _number(words: tuple[str, ...], shortest: int, longest: int) -> NgramTable:
    """Number the n-grams of words from 0 on."""
    ids: dict[str, int] = {}
    grams: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    for word in words:
        found = () if NO_WORD in word else ngrams(word, shortest, longest)
        grams.append(np.array([ids.setdefault(gram, len(ids)) for gram in found], np.int32))
    # through NumPy, as a default device may be one without memory
    lengths = torch.from_numpy(np.array([*map(len, grams[1:])], np.int64))
    return NgramTable(
        ids, torch.from_numpy(np.concatenate(grams)), segment_starts(lengths), lengths
    )
