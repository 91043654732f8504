"""Words without their endings."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import Stemmer
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.data.tokenizing.frequencies import inverse_frequencies


def stem_ids(words: Sequence[str], stemmer: str | None) -> Tensor:
    """Number the words [V] such that those of one stem have one number, from 0 on.

    Args:
        words: the vocabulary.
        stemmer: the language of a Snowball stemmer (Porter, 2001), such as english; null gives
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
        known = Stemmer.algorithms()
        raise InputError(
            f"there is no stemmer {language!r}{nearest(language, known)}; there are "
            f"{', '.join(sorted(known))}"
        )
    stems = Stemmer.Stemmer(language).stemWords(list(words))
    ids: dict[str, int] = {}
    return np.array([ids.setdefault(stem, len(ids)) for stem in stems])


def stem_rarity(stems: Tensor, frequencies: Tensor, documents: int) -> Tensor:
    """Return log((1 + N) / (1 + n)) of every stem, of whose words n of N documents have one.

    Documents that have several of its words count as often, up to N in all.

    Args:
        stems: the stem of each word [V].
        frequencies: documents that have each word [V].
        documents: N.
    """
    counts = frequencies.new_zeros(int(stems.max()) + 1).index_add_(0, stems, frequencies)
    return inverse_frequencies(counts.clamp(max=documents), documents).float()
