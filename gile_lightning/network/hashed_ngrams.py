"""Character n-grams hashed into a fixed number of features."""

import torch.nn.functional as F
from torch import Tensor

from gile_lightning.common.errors import positive
from gile_lightning.data.loading.flat import segment_ids, send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.ngrams import NgramTable
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.hashed import hashed
from gile_lightning.network.encoders.idf import Idf, damping
from gile_lightning.network.encoders.segments import document_words

SIZES = 3, 5  # characters of the shortest n-grams and of the longest
_FACTOR, _MASK = 0x45D9F3B, 2**32 - 1


class HashedNgrams(Idf):
    """The character n-grams of a text's words, hashed into features: a vector of length 1.

    Words have the n-grams of 3 to 5 characters that `CharacterMatch` reads. An n-gram weighs its
    inverse document frequency, for each word that has it: a word that occurs c times counts
    1 + ln c. It adds its weight, with a sign, to two of the features, as in `HashedWords`. So texts
    are alike that have words with common parts, such as forms of one word. Words outside the
    vocabulary count nothing.

    Args:
        dim: the number of features.
        tokenizer: has the vocabulary.
    """

    def __init__(self, dim: int, tokenizer: Tokenizer) -> None:
        positive(dim=dim)
        super().__init__()
        self.dim = dim
        self.table = NgramTable.of(tokenizer, *SIZES)

    def build(self, words: int) -> None:
        """Set all weights of n-grams to 1."""
        super().build(len(self.table.ids))

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Compute the weights of n-grams from the document frequencies of words [V]."""
        self.weights.copy_(self.table.rarity(frequencies, documents))

    def features(self, texts: Texts) -> Tensor:
        """Return the features of B texts: [B, dim]."""
        lengths = document_words(texts.sentence_lengths, texts.document_lengths)
        words = texts.word_ids.to(self.table.starts.device)
        counts = damping(words.long(), lengths, len(self.table.lengths) + 1)
        places, grams = self.table.of_words(words)
        on_host = segment_ids(lengths)[places], grams, counts[places]
        rows, grams, counts = (send(x, self.weights.device) for x in on_host)
        weights = self(grams) * counts
        features = weights.new_zeros(len(lengths) * self.dim)
        for columns, signs in zip(*hashed(scattered(grams), self.dim), strict=True):
            features.index_add_(0, rows * self.dim + columns, weights * signs)
        return F.normalize(features.view(len(lengths), self.dim))


def scattered(numbers: Tensor) -> Tensor:
    """Return other numbers below 2³¹ for numbers [N] below 2³², as at random.

    The n-grams of a word follow one another. Hashed as they are, those of two words would have the
    same features together, one by one, if the first ones had.
    """
    for _ in range(2):
        numbers = (numbers ^ (numbers >> 16)) * _FACTOR & _MASK
    return (numbers ^ (numbers >> 16)) >> 1
