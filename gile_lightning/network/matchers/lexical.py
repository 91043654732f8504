"""Learned lexical matching of documents and label texts."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.data.loading.ragged import (
    Texts,
    distinct,
    gather_segments,
    segment_ids,
    segment_starts,
    sum_by_id,
)
from gile_lightning.data.tokenizing.frequencies import count_pairs
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.encoder import document_words
from gile_lightning.network.matchers.matcher import UNIT, Matcher, MatcherLabels, Read
from gile_lightning.network.matchers.stems import stem_ids, stem_rarity


class Bags(NamedTuple):
    """The words of K labels, each once per label.

    Shapes: ``terms`` [N] ids of stems; ``counts`` [N], how often each comes; ``lengths`` [K], how
    many a label has; ``stems`` [V + new words], that of every word; ``size`` is above all stems.
    """

    terms: Tensor
    counts: Tensor
    lengths: Tensor
    stems: Tensor
    size: int


class LexicalIndex(MatcherLabels):
    """The words of a label set."""

    terms: Tensor
    counts: Tensor
    lengths: Tensor
    starts: Tensor
    stems: Tensor

    def __init__(self, bags: Bags) -> None:
        super().__init__()
        self.size = bags.size
        for name in ("terms", "counts", "lengths", "stems"):
            self.register_buffer(name, getattr(bags, name), persistent=False)
        self.register_buffer("starts", segment_starts(bags.lengths), persistent=False)

    def gather(self, ids: Tensor) -> Bags:
        """Return the words of the labels ``ids`` [K]."""
        terms, counts = (
            gather_segments(values, self.starts, self.lengths, ids)
            for values in (self.terms, self.counts)
        )
        return Bags(terms, counts, self.lengths[ids], self.stems, self.size)


class LexicalMatch(Matcher):
    """A scale times the cosine of documents and label texts as bags of weighted words.

    A word's weight is its idf in the training documents, log((1 + N) / (1 + n)), times a
    factor that is learned, one per word, and starts at 1; in a text it counts 1 + log of how
    often it comes. A model without training thus ranks labels as TF-IDF does, and training moves
    the weights of words by the loss of the model. What describes a label are its name, once more
    than in its text, the text, however long, and its synonyms. The unknown word counts nothing;
    words that are new to the vocabulary (`Tokenizer.extended`) have the largest idf, and count in
    the norm of a document only for labels that have them: what else is in a label set changes no
    score.

    Args:
        text: has the vocabulary. Words of label texts that no training document has belong there
            (``data.label_words``).
        stemmer: the language, as the Snowball stemmers name it, whose endings are taken off
            words before they are compared; null compares words as they are, and is the choice for
            a model of several languages, which all get this stemmer.
        scale: what the cosine is multiplied with at the start; learned.
        synonyms: whether the words of a label's synonyms are its words too.
    """

    idf: Tensor
    stems: Tensor

    def __init__(
        self,
        text: Tokenizer,
        stemmer: str | None = None,
        scale: float = 10.0,
        synonyms: bool = True,
    ) -> None:
        super().__init__()
        self.synonyms = synonyms
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
        self.idf.copy_(stem_rarity(self.stems, frequencies, documents))

    def index(self, text: Tokenizer, labels: LabelSet, read: Read) -> LexicalIndex:
        """Count the words of the labels' names, texts and synonyms."""
        words: list[int] = []
        rows: list[int] = []
        for i, parts in enumerate(zip(labels.names, labels.texts, labels.synonyms, strict=True)):
            name, description, synonyms = parts
            for part in (name, description, *(synonyms if self.synonyms else ())):
                ids = [word for word in text.word_ids(text.words(part)) if word != self.unknown]
                words += ids
                rows += [i] * len(ids)
        stems = stem_ids([*text.vocabulary, *text.further], self.stemmer)
        size = int(stems.max()) + 1
        of_words = stems[torch.tensor(words, dtype=torch.long)]
        rows_of, terms, counts = count_pairs(torch.tensor(rows, dtype=torch.long), of_words, size)
        lengths = rows_of.bincount(minlength=len(labels))
        return LexicalIndex(Bags(terms, counts, lengths, stems, size))

    def forward(self, documents: Texts, labels: Bags) -> Tensor:
        """Score documents against the words of K labels: [B, K]."""
        weight = self.idf * self.log_factor.exp()
        if labels.size > self.stem_count:
            new = self.idf.amax().expand(labels.size - self.stem_count)
            weight = torch.cat([weight, new])
        words = documents.word_ids
        known = words != self.unknown
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        stems = labels.stems[words[known].long()]
        rows, terms, counts = count_pairs(segment_ids(lengths)[known], stems, labels.size)
        values = (1 + counts.to(weight.dtype).log()) * weight[terms]
        old = terms < self.stem_count
        values = values / _norms(values[old], rows[old], len(lengths))[rows]
        distinct_terms, places = distinct(terms, labels.size)
        zeros = values.new_zeros(len(distinct_terms), len(lengths))
        table = zeros.index_put((places, rows), values * weight[terms])
        # of the labels' words, those that some document has
        place = terms.new_full((labels.size,), -1)
        place[distinct_terms] = torch.arange(len(distinct_terms), device=terms.device)
        columns = place[labels.terms]
        kept = columns >= 0
        owners = segment_ids(labels.lengths)
        sizes = owners[kept].bincount(minlength=len(labels.lengths))
        tf = 1 + labels.counts.to(weight.dtype).log()
        products = multiply(table, columns[kept], tf[kept], sizes)
        norms = _norms(tf * weight[labels.terms], owners, len(sizes))
        if labels.size > self.stem_count:
            new = zeros.index_put((places[~old], rows[~old]), values[~old] ** 2)
            squares = multiply(new, columns[kept], torch.ones_like(tf[kept]), sizes)
            products = products / (1 + squares).sqrt()
        return self.scale * UNIT * (products / norms.unsqueeze(1)).T


def _norms(values: Tensor, rows: Tensor, size: int) -> Tensor:
    """Return the norm of every row [size] of a sparse matrix; not quite 0 for an empty one."""
    return values.new_zeros(size).index_add(0, rows, values**2).clamp(min=1e-12).sqrt()


class _Multiply(torch.autograd.Function):
    """A sparse matrix times a dense one; see `multiply`."""

    @staticmethod
    def forward(
        context: Any, table: Tensor, columns: Tensor, weights: Tensor, lengths: Tensor
    ) -> Tensor:
        context.save_for_backward(columns, weights, lengths)
        context.rows = len(table)
        starts = segment_starts(lengths)
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
    if not len(columns):  # of which an embedding bag cannot do the backward pass
        return table.sum() * 0 + table.new_zeros(len(lengths), table.shape[1])
    product: Tensor = _Multiply.apply(  # type: ignore[no-untyped-call]
        table, columns, weights, lengths
    )
    return product
