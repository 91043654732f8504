"""Words weighted by their inverse document frequency."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.data.loading.flat import segment_ids, send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.frequencies import inverse_frequencies
from gile_lightning.network.encoders.encoder import Encoder
from gile_lightning.network.encoders.segments import document_words, segment_sum


class Idf(nn.Module):
    """A weight per word of the vocabulary: ln((1 + n) / (1 + df)) for a word in df of n documents.

    Any module of a `Network` may hold one. `build_networks` sets the size of the vocabulary, and
    training begins with `count_words`; checkpoints keep the weights. UNK, numbers and punctuation
    marks are words like all others.

    Args:
        learned: whether each weight has a learned factor: the exponential of a parameter that
            starts at 0, so that weights stay positive.
    """

    weights: Tensor

    def __init__(self, learned: bool = False) -> None:
        super().__init__()
        self.register_buffer("weights", torch.empty(0))
        self.logarithms = nn.Parameter(torch.empty(0)) if learned else None

    def build(self, words: int) -> None:
        """Set the size V of the vocabulary; all weights are 1."""
        self.weights = torch.ones(words)
        if self.logarithms is not None:
            self.logarithms = nn.Parameter(torch.zeros(words))

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Compute the weights from document frequencies [V] among a number of documents."""
        self.weights.copy_(inverse_frequencies(frequencies, documents))

    def forward(self, ids: Tensor) -> Tensor:
        """Return the weights [N] of words [N]."""
        ids = send(ids, self.weights.device)
        weights = self.weights.index_select(0, ids)
        if self.logarithms is None:
            return weights
        return weights * self.logarithms.index_select(0, ids).exp()


class IdfMean(Encoder):
    """The mean of a text's word vectors, weighted by inverse document frequency.

    It is Σ w_i v_i / Σ w_i with w_i the weight of the i-th word (see `Idf`) and v_i its vector, or
    zeros for a text whose words all weigh 0.

    Args:
        input_dim: size of the word vectors.
        sublinear_tf: a word that occurs c times in a text counts 1 + ln c times.
        learned: whether training changes the weights of words.
    """

    def __init__(self, input_dim: int, sublinear_tf: bool = False, learned: bool = False) -> None:
        super().__init__()
        self.output_dim = input_dim
        self.sublinear_tf = sublinear_tf
        self.idf = Idf(learned)

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts of B documents as [B, d]."""
        lengths = document_words(texts.sentence_lengths, texts.document_lengths)
        weights = self.idf(texts.word_ids)
        words = send(texts.words, weights.device)
        if self.sublinear_tf:
            weights = weights * damping(words, lengths, len(word_vectors)).to(weights.dtype)
        return weighted_mean(word_vectors, lengths, weights, words)


def weighted_mean(
    values: Tensor, lengths: Tensor, weights: Tensor, ids: Tensor | None = None
) -> Tensor:
    """Average flat vectors with weights within each segment; see `segment_sum`.

    A segment whose weights are all 0 gives zeros.
    """
    # in float32: a sum of bfloat16 stops growing at 256 words
    precise = weights.to(torch.promote_types(weights.dtype, torch.float))
    totals = precise.new_zeros(len(lengths)).index_add(0, segment_ids(lengths, precise), precise)
    totals = totals.where(totals > 0, 1)
    summed = segment_sum(values, lengths, weights.to(values.dtype), ids)
    return summed / totals.to(summed.dtype).unsqueeze(-1)


def damping(words: Tensor, lengths: Tensor, size: int) -> Tensor:
    """Return (1 + ln c) / c [N] for words [N], below ``size``, that occur c times in a segment."""
    pairs = segment_ids(lengths, words) * size + words
    if pairs.device.type == "cpu":
        _, places, counts = torch.unique(pairs, return_inverse=True, return_counts=True)
    else:  # where `unique` would have the host wait for the number of pairs
        pairs, order = pairs.sort()
        begins = F.pad(pairs.diff(), (1, 0))[: len(pairs)] != 0
        places = torch.empty_like(order).index_copy_(0, order, begins.cumsum(0))
        counts = torch.zeros_like(places).index_add_(0, places, torch.ones_like(places))
    factors: Tensor = (1 + counts.log()) / counts
    return factors[places]
