"""Learned lexical matching of documents and label texts."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.channels.channel import UNIT, Channel, LabelIndex, Read
from gile_lightning.channels.stems import stem_ids
from gile_lightning.data.labels import LabelSet
from gile_lightning.data.ragged import Texts, distinct, segment_ids, sum_by_id, take_segments
from gile_lightning.data.text import TextEncoder
from gile_lightning.encoders.encoder import document_words


class Bags(NamedTuple):
    """The words of K labels, each once per label.

    Shapes: ``terms`` [N] ids of stems; ``weights`` [N], 1 + log of how often; ``lengths`` [K];
    ``stems`` [V] the stem of every word of the vocabulary; ``size`` is above all stems.
    """

    terms: Tensor
    weights: Tensor
    lengths: Tensor
    stems: Tensor
    size: int


class LexicalIndex(LabelIndex):
    """The words of a label set."""

    terms: Tensor
    weights: Tensor
    lengths: Tensor
    starts: Tensor
    stems: Tensor

    def __init__(self, bags: Bags) -> None:
        super().__init__()
        self.size = bags.size
        for name in ("terms", "weights", "lengths", "stems"):
            self.register_buffer(name, getattr(bags, name), persistent=False)
        starts = bags.lengths.cumsum(0) - bags.lengths
        self.register_buffer("starts", starts, persistent=False)

    def take(self, ids: Tensor) -> Bags:
        """Return the words of the labels ``ids`` [K]."""
        terms, weights = (
            take_segments(values, self.starts, self.lengths, ids)
            for values in (self.terms, self.weights)
        )
        return Bags(terms, weights, self.lengths[ids], self.stems, self.size)


class LexicalMatch(Channel):
    """A scale times the cosine of documents and label texts as bags of weighted words.

    A word's weight is its idf in the training documents, log((1 + N) / (1 + n)), times a
    factor that is learned, one per word, and starts at 1; in a text it counts 1 + log of how
    often it comes. A model without training thus ranks labels as TF-IDF does, and training moves
    the weights of words by the loss of the model. What describes a label are its name, once more
    than in its text, the text, and its synonyms. The unknown word counts nothing; words that are
    new to the vocabulary (`TextEncoder.extended`) have the largest idf.

    Args:
        text: has the vocabulary. Words of label texts that no training document has belong there
            (``data.label_words``).
        stemmer: the language, as the Snowball stemmers name it, whose endings are taken off
            words before they are compared; null compares words as they are.
        scale: what the cosine is multiplied with at the start; learned.
    """

    idf: Tensor
    stems: Tensor

    def __init__(self, text: TextEncoder, stemmer: str | None = None, scale: float = 10.0) -> None:
        super().__init__()
        self.stemmer = stemmer
        self.unknown = len(text.vocabulary) - 1
        stems = stem_ids(text.vocabulary, stemmer)
        self.stem_count = int(stems.max()) + 1
        self.register_buffer("stems", stems, persistent=False)
        self.scale = nn.Parameter(torch.tensor(scale / UNIT))
        self.log_factor = nn.Parameter(torch.zeros(self.stem_count))
        self.register_buffer("idf", torch.ones(self.stem_count))

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Set the idf; a stem is in as many documents as its words together, at most in all."""
        counts = torch.zeros_like(self.idf).index_add_(0, self.stems, frequencies.to(self.idf))
        self.idf.copy_(((1 + documents) / (1 + counts.clamp(max=documents))).log())

    def index(self, text: TextEncoder, labels: LabelSet, read: Read) -> LexicalIndex:
        """Count the words of the labels' names, texts and synonyms."""
        stems = stem_ids([*text.vocabulary, *text.further], self.stemmer)
        size = int(stems.max()) + 1
        words: list[int] = []
        lengths: list[int] = []
        for i, name in enumerate(labels.names):
            parts = (name, labels.texts[i], *labels.synonyms[i])
            ids = [word for part in parts for word in text.word_ids(text.words(part))]
            ids = [word for word in ids if word != self.unknown]
            words += ids
            lengths.append(len(ids))
        terms, counts, sizes = count_terms(
            stems[torch.tensor(words, dtype=torch.long)], torch.tensor(lengths), size
        )
        return LexicalIndex(Bags(terms, 1 + counts.log(), sizes, stems, size))

    def forward(self, documents: Texts, labels: Bags) -> Tensor:
        """Score documents against the words of K labels: [B, K]."""
        weight = self.idf * self.log_factor.exp()
        new = self.idf.amax().expand(labels.size - self.stem_count)
        weight = torch.cat([weight, new]) if len(new) else weight
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        known = documents.words != self.unknown
        lengths = torch.zeros_like(lengths).index_add_(0, segment_ids(lengths), known.long())
        stems = labels.stems[documents.words[known].long()]
        terms, counts, lengths = count_terms(stems, lengths, labels.size)
        rows = segment_ids(lengths)
        values = (1 + counts.log()) * weight[terms]
        squares = torch.zeros_like(lengths, dtype=values.dtype).index_add_(0, rows, values**2)
        values = values / squares.clamp(min=1e-12).sqrt()[rows] * weight[terms]
        words, places = distinct(terms, labels.size)
        table = values.new_zeros(len(words), len(lengths)).index_put((places, rows), values)
        # of the labels' words, those that some document has
        place = terms.new_full((labels.size,), -1)
        place[words] = torch.arange(len(words), device=words.device)
        columns = place[labels.terms]
        kept = columns >= 0
        labelled = segment_ids(labels.lengths)
        sizes = labelled[kept].bincount(minlength=len(labels.lengths))
        scores = multiply(table, columns[kept], labels.weights[kept], sizes)
        squares = _sums((labels.weights * weight[labels.terms]) ** 2, labelled, len(sizes))
        cosines = scores / squares.clamp(min=1e-12).sqrt().unsqueeze(1)
        return self.scale * UNIT * cosines.T


def _sums(values: Tensor, ids: Tensor, size: int) -> Tensor:
    return values.new_zeros(size).index_add(0, ids, values)


def count_terms(terms: Tensor, lengths: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Count the terms of flat segments.

    Args:
        terms: ids [N] below ``size``.
        lengths: of the segments [S].
        size: above all ids.

    Returns:
        The distinct terms of every segment, flat [M]; how often each comes [M], as floats; and
        how many a segment has [S].
    """
    rows = segment_ids(lengths)
    pairs, counts = torch.unique(rows * size + terms, return_counts=True)
    return pairs % size, counts.float(), (pairs // size).bincount(minlength=len(lengths))


class _Multiply(torch.autograd.Function):
    """A sparse matrix times a dense one; see `multiply`."""

    @staticmethod
    def forward(
        context: Any, table: Tensor, columns: Tensor, weights: Tensor, lengths: Tensor
    ) -> Tensor:
        context.save_for_backward(columns, weights, lengths)
        context.rows = len(table)
        starts = lengths.cumsum(0) - lengths
        return F.embedding_bag(columns, table, starts, mode="sum", per_sample_weights=weights)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        columns, weights, lengths = context.saved_tensors
        rows = segment_ids(lengths)
        return (
            sum_by_id(gradients[0].contiguous(), rows, columns, context.rows, weights),
            None,
            None,
            None,
        )


def multiply(table: Tensor, columns: Tensor, weights: Tensor, lengths: Tensor) -> Tensor:
    """Multiply a sparse matrix [K, U] with a dense one [U, B], for which there is a gradient.

    Row k of the sparse matrix has ``weights`` [N] in the ``columns`` [N] of segment k, of so many
    ``lengths`` [K]. An embedding bag forwards and, of the transposed matrix, backwards.
    """
    if not len(columns):
        return table.sum() * 0 + table.new_zeros(len(lengths), table.shape[1])
    product: Tensor = _Multiply.apply(  # type: ignore[no-untyped-call]
        table, columns, weights, lengths
    )
    return product
