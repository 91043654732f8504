"""The cosine of word vectors that were fitted to the vectors of a pretrained sentence encoder."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.progress import track
from gile_lightning.data.loading.flat import (
    distinct,
    gather_segments,
    segment_ids,
    segment_starts,
    send,
)
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.frequencies import inverse_frequencies, word_pairs
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.idf import damping
from gile_lightning.network.encoders.segments import document_words, segment_sum
from gile_lightning.network.matchers.matcher import (
    LOGIT_SCALE,
    EncodeTexts,
    Matcher,
    MatcherLabels,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ITERATIONS = 30  # of conjugate gradients


class WordBags(NamedTuple):
    """The distinct words of B texts: ``words`` [N], their counts [N], and words per text [B]."""

    words: Tensor
    counts: Tensor
    lengths: Tensor


class DistilledLabels(MatcherLabels):
    """The bags of words of a label set.

    Their vectors are made when labels are selected. For labels are prepared before the matcher
    has the vectors of its words, from the regression or from a checkpoint.
    """

    def __init__(self, matcher: "DistilledCosine", bags: WordBags) -> None:
        super().__init__()
        self.words, self.counts, self.lengths = bags  # on the host
        self.starts = segment_starts(bags.lengths)
        self._encode = matcher.encode  # a method: the matcher itself would become a part of this

    def select(self, ids: Tensor) -> Tensor:
        """Return the vectors [K, dim] of the labels ``ids`` [K]."""
        words, counts = (
            gather_segments(values, self.starts, self.lengths, ids)
            for values in (self.words, self.counts)
        )
        return self._encode(WordBags(words, counts, self.lengths[ids]))


class DistilledCosine(Matcher):
    """A learned scale times the cosine of document and label, in the space of a pretrained model.

    It needs the model (``data.pretrained``) in training alone. Prediction reads words: a text's
    vector is x W, scaled to length 1. x [V] is its bag: a word that occurs c times, and in df of
    the n training documents, weighs (1 + ln c) ln((1 + n) / (1 + df)). x has length 1.

    W [V, dim] is a ridge regression, solved before training. With the bags X of the training
    documents and of the label texts, and the vectors T that the model makes of them,

        W = argmin |X W - T|² + λ |W|²

    T is reduced to its ``dim`` principal directions, which keeps the angles between texts. (Fitting
    static vectors to a transformer's: Gupta & Jaggi, 2021, ACL, who learn from words in context.)
    A word that no such text has counts nothing.

    Args:
        tokenizer: has the vocabulary, and names the pretrained model.
        dim: size of the vectors; at most that of the model's.
        scale: the scale before training.
        penalty: λ.
    """

    called = "distilled vectors"
    vectors: Tensor

    def __init__(
        self, tokenizer: Tokenizer, dim: int = 256, scale: float = 5.0, penalty: float = 0.1
    ) -> None:
        positive(dim=dim, penalty=penalty)
        super().__init__()
        if tokenizer.pretrained is None:
            raise InputError(
                "matchers.DistilledCosine learns from a pretrained model: set --data.pretrained, "
                "such as all-MiniLM-L6-v2"
            )
        self.dim, self.penalty = dim, penalty
        self.size = len(tokenizer.vocabulary)
        self.scale = nn.Parameter(torch.tensor(scale / LOGIT_SCALE))
        self.register_buffer("vectors", torch.zeros(self.size, dim))

    def prepare_labels(
        self, tokenizer: Tokenizer, labels: LabelSet, encode: EncodeTexts
    ) -> DistilledLabels:
        """Count the words of the labels' texts."""
        return DistilledLabels(self, self._bags(encode(labels.texts, self.inputs)))

    def forward(self, documents: Texts, labels: Tensor) -> Tensor:
        """Score documents against the vectors of K labels: [B, K]."""
        vectors = self.encode(self._bags(documents))
        return self.scale * LOGIT_SCALE * (vectors @ labels.T.to(vectors.dtype))

    def by_word(self, documents: Texts, labels: Tensor) -> Tensor:
        """Return what each word adds to the cosines: [N, K]; occurrences of a word share evenly."""
        words = documents.word_ids.clamp(max=self.size - 1).long()
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        rows = segment_ids(lengths)
        factors = damping(words, lengths, self.size)
        words, rows, factors = (send(x, self.vectors.device) for x in (words, rows, factors))
        vectors = self.vectors[words] * factors.unsqueeze(1)
        sums = vectors.new_zeros(len(lengths), self.dim).index_add(0, rows, vectors)
        norms: Tensor = torch.linalg.vector_norm(sums, dim=1).clamp(min=1e-12)
        return self.scale * LOGIT_SCALE * (vectors @ labels.T / norms[rows].unsqueeze(1))

    def _bags(self, texts: Texts) -> WordBags:
        """Count the words of B texts; those that are new to the vocabulary become UNK."""
        known = texts._replace(words=texts.word_ids.clamp(max=self.size - 1).long())
        rows, words, counts = word_pairs(known, self.size)
        return WordBags(words, counts, rows.bincount(minlength=len(texts.document_lengths)))

    @torch.no_grad()
    def encode(self, bags: WordBags) -> Tensor:
        """Return the vectors [B, dim] of texts, of length 1; zeros for a text without a vector."""
        words, places = distinct(bags.words, self.size)
        words, counts = (send(x, self.vectors.device) for x in (words, bags.counts))
        weights = 1 + counts.to(self.scale.dtype).log()
        table = self.vectors[words].to(weights.dtype)
        return F.normalize(segment_sum(table, bags.lengths, weights, places))

    def fit(self, texts: Iterable[tuple[Texts, Tensor]], frequencies: Tensor, count: int) -> None:
        """Solve the regression.

        Args:
            texts: documents and label texts in batches, with the vectors [B, d] of the model.
            frequencies: documents that have each word [V].
            count: the number of documents n.
        """
        from scipy.sparse import csr_array, vstack

        idf = inverse_frequencies(frequencies, count).numpy().astype(np.float32)
        idf[-1] = 0  # of UNK
        rows, targets = [], []
        for batch, vectors in texts:
            words, counts, lengths = self._bags(batch)
            weights = (1 + counts.float().log()).numpy() * idf[words.numpy()]
            owners = segment_ids(lengths).numpy()
            norms = np.sqrt(np.bincount(owners, weights**2, minlength=len(lengths)))
            weights = (weights / np.maximum(norms[owners], 1e-12)).astype(np.float32)
            shape = len(lengths), self.size
            rows.append(csr_array((weights, (owners, words.numpy())), shape=shape))
            targets.append(vectors.float().cpu().numpy())
        wanted = principal(np.concatenate(targets), self.dim)
        solved = ridge(vstack(rows, format="csr"), wanted, self.penalty)
        self.vectors.copy_(torch.from_numpy(solved * idf[:, None]))


def principal(vectors: NDArray[np.float32], dim: int) -> NDArray[np.float32]:
    """Return vectors [n, d] in the basis of their ``dim`` directions with the largest squares.

    If d is smaller than ``dim``, zeros follow.
    """
    _, directions = np.linalg.eigh(vectors.T @ vectors)  # by rising eigenvalue
    reduced = vectors @ directions[:, ::-1][:, :dim]
    return np.pad(reduced, ((0, 0), (0, dim - reduced.shape[1])))


def ridge(rows: "csr_array", targets: NDArray[np.float32], penalty: float) -> NDArray[np.float32]:
    """Return W [V, d] that minimizes |X W - T|² + λ |W|², by conjugate gradients.

    The columns of W are solved side by side. The regression needs no matrix of V x V.

    Args:
        rows: X [n, V].
        targets: T [n, d].
        penalty: λ.
    """
    columns = rows.T.tocsr()
    solution = np.zeros((rows.shape[1], targets.shape[1]), dtype=np.float32)
    residual = columns @ targets
    direction = residual.copy()
    squares = np.einsum("vd,vd->d", residual, residual)
    for _ in track(range(ITERATIONS), "distilling", ITERATIONS, "iterations"):
        image = columns @ (rows @ direction) + penalty * direction
        curvature = np.einsum("vd,vd->d", direction, image)
        step = squares / np.maximum(curvature, 1e-30)
        solution += step * direction
        residual -= step * image
        before, squares = squares, np.einsum("vd,vd->d", residual, residual)
        direction = residual + squares / np.maximum(before, 1e-30) * direction
    return solution
