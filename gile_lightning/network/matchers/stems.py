"""Words without their endings."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import Stemmer
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.data.tokenizing.frequencies import term_rarity


def stem_ids(words: Sequence[str], stemmer: str | None) -> Tensor:
    """Number the stems of words from 0 on: [V], the same number for words of one stem.

    Args:
        words: the vocabulary.
        stemmer: the language of a Snowball stemmer (Porter, 2001), such as english; None gives
            every word a number of its own.

    Raises:
        InputError: there is no stemmer of this name.
    """
    if stemmer is None:
        return torch.from_numpy(np.arange(len(words)))
    return torch.from_numpy(_stem_ids(tuple(words), stemmer))


@lru_cache(maxsize=8)
def _stem_ids(words: tuple[str, ...], language: str) -> NDArray[np.int64]:
    if language not in Stemmer.algorithms():
        names = Stemmer.algorithms()
        raise InputError(
            f"there is no stemmer {language!r}{nearest(language, names)}; there are "
            f"{', '.join(sorted(names))}"
        )
    stems = Stemmer.Stemmer(language).stemWords(list(words))
    ids: dict[str, int] = {}
    return np.array([ids.setdefault(stem, len(ids)) for stem in stems])


def stem_rarity(stems: Tensor, frequencies: Tensor, documents: int) -> Tensor:
    """Return the `term_rarity` of all stems.

    Args:
        stems: the stem of each word [V].
        frequencies: documents that have each word [V].
        documents: N.
    """
    return term_rarity(stems, frequencies, int(stems.max()) + 1, documents)
