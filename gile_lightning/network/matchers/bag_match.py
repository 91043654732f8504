"""The cosine of bags of weighted terms, which are words or character n-grams."""

from abc import abstractmethod
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.data.loading.flat import (
    distinct,
    gather_segments,
    segment_ids,
    segment_starts,
    send,
    sum_by_id,
)
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.frequencies import count_pairs
from gile_lightning.network.encoders.segments import document_words
from gile_lightning.network.matchers.matcher import LOGIT_SCALE, Matcher, MatcherLabels

HOST = torch.device("cpu")  # where terms are looked up


class Bags(NamedTuple):
    """The bags of terms of K labels, one after another.

    Shapes: ``terms`` [N] ids, each once per label; ``counts`` [N], how often the label has it;
    ``lengths`` [K], the size of each bag. They are where the scores are computed. ``size`` is above
    the id of every term. ``new`` says whether any label has a term that is new to the matcher.
    ``stems``, on the host, are those of all words [V + new words], where terms are stems.
    ``factors`` [K] turn products into scores, where weights stay as they are. ``found`` are the
    terms of documents, where they were looked up ahead.
    """

    terms: Tensor
    counts: Tensor
    lengths: Tensor
    size: int
    new: bool = False
    stems: Tensor | None = None
    factors: Tensor | None = None
    found: "DocumentTerms | None" = None


class DocumentTerms(NamedTuple):
    """The terms of B documents, each once per document, document after document.

    Shapes: ``rows``, ``terms`` and ``counts`` [N], the document, the term, and how often it is
    there; ``distinct`` [U] terms, and ``places`` [N] of each among these; ``of_known`` [M], which
    of the N terms were known before labels were, and ``known`` [N] the same as a mask, if labels
    have others. They are where the scores are computed. ``size`` is B.
    """

    rows: Tensor
    terms: Tensor
    counts: Tensor
    distinct: Tensor
    places: Tensor
    of_known: Tensor
    known: Tensor | None
    size: int


def count_terms(terms: Tensor, lengths: Tensor, size: int) -> Bags:
    """Count the terms [N] of K labels, one label after another, whose ids are below ``size``."""
    rows, terms, counts = count_pairs(segment_ids(lengths), terms, size)
    return Bags(terms, counts, rows.bincount(minlength=len(lengths)), size)


class BagLabels(MatcherLabels):
    """The bags of terms of a label set; see `Bags` for the shapes."""

    place: Tensor

    def __init__(self, bags: Bags) -> None:
        super().__init__()
        self.bags = bags  # on the host, where sizes are known
        self.starts = segment_starts(bags.lengths)
        self.register_buffer("place", torch.empty(0), persistent=False)  # moves with the model

    def select(self, ids: Tensor) -> Any:
        """Return the bags of the labels ``ids`` [K]: `Bags`."""
        bags, ids = self.bags, ids.to(self.starts.device)
        lengths = bags.lengths[ids]
        terms, counts = (
            gather_segments(values, self.starts, bags.lengths, ids)
            for values in (bags.terms, bags.counts)
        )
        terms, counts, lengths = (send(x, self.place.device) for x in (terms, counts, lengths))
        return bags._replace(terms=terms, counts=counts, lengths=lengths)


class BagMatch(Matcher):
    """A learned scale times the cosine of document and label as bags of weighted terms.

    The weight of a term is its idf in the training documents, log((1 + N) / (1 + n)), times a
    learned factor, which is 1 before training; a term that occurs c times in a text counts
    1 + log c. A term that is new to the matcher has the largest idf. It counts in the norm of a
    document only for labels that have it, so that other labels of the set change no score.

    Args:
        terms: the number of terms that are known before labels are.
        scale: the scale before training.
    """

    idf: Tensor

    def __init__(self, terms: int, scale: float) -> None:
        super().__init__()
        self.term_count = terms
        self.scale = nn.Parameter(torch.tensor(scale / LOGIT_SCALE))
        self.log_factor = nn.Parameter(torch.zeros(terms))
        self.register_buffer("idf", torch.ones(terms))

    @abstractmethod
    def find_terms(self, words: Tensor, labels: Any) -> tuple[Tensor, Tensor]:
        """Find the terms of words [N], given as ids, on the host.

        Returns:
            The places of words [M], ascending, and the id of a term of each [M]. A word can have no
            term, one, or several.
        """

    def look_up(self, documents: Texts, labels: Any) -> Any:
        """Return bags with the terms of documents."""
        return labels._replace(found=self._terms(documents, labels))

    def settled(self, labels: Any) -> Any:
        """Return bags with their factors, which take half of the time of a single document."""
        return labels._replace(factors=self._factors(labels))

    def forward(self, documents: Texts, labels: Bags) -> Tensor:
        """Score documents against the terms of K labels: [B, K]."""
        found = labels.found
        shared = self._shared(self._terms(documents, labels) if found is None else found, labels)
        products = multiply(shared.table, shared.columns, shared.weights, shared.lengths)
        if shared.longer is not None:
            some = shared.with_new
            products = products.index_copy(0, some, products[some] / shared.longer)
        return products.T * shared.factors

    def by_word(self, documents: Texts, labels: Bags) -> Tensor:
        """Return what each word adds to the scores of its document: [N, K].

        The occurrences of a term share evenly what the term adds.
        """
        documents = documents.to(HOST)
        shared = self._shared(self._terms(documents, labels), labels)
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        factors = shared.factors.unsqueeze(1).repeat(1, len(lengths))
        if shared.longer is not None:
            factors[shared.with_new] /= shared.longer
        owners = segment_ids(shared.lengths, shared.columns)
        added = shared.table[shared.columns] * shared.weights.unsqueeze(1) * factors[owners]
        places, terms = self.find_terms(documents.word_ids, labels)
        rows = segment_ids(lengths)[places]
        pairs = rows * labels.size + terms
        _, of_pair, counts = torch.unique(pairs, return_inverse=True, return_counts=True)
        share = 1 / send(counts[of_pair], added.device).to(added.dtype)
        found = added.new_zeros(len(documents.word_ids), len(labels.lengths))
        of_term = shared.terms[shared.columns]  # the term of each row of what is added
        for term, owner, row in zip(of_term.tolist(), owners.tolist(), added, strict=True):
            here = (terms == term).nonzero().squeeze(1)
            words, texts = (send(x[here], found.device) for x in (places, rows))
            found[:, owner].index_add_(0, words, row[texts] * share[send(here, found.device)])
        return found

    def _weight(self, size: int) -> Tensor:
        """Return the weights of terms below ``size``, new ones among them."""
        weight = self.idf * self.log_factor.exp()
        if size == self.term_count:
            return weight
        return torch.cat([weight, self.idf.amax().expand(size - self.term_count)])

    def _factors(self, labels: Any) -> Tensor:
        """Return what turns the products of documents with K labels into scores: [K]."""
        found: Tensor | None = labels.factors
        if found is not None:
            return found
        weight = self._weight(labels.size)
        values = (1 + labels.counts.to(weight.dtype).log()) * weight.index_select(0, labels.terms)
        owners = segment_ids(labels.lengths, labels.terms)
        return self.scale * LOGIT_SCALE / norms(values, owners, len(labels.lengths))

    def _terms(self, documents: Texts, labels: Bags) -> DocumentTerms:
        """Count the terms of documents, on the host."""
        documents, device = documents.to(HOST), self.idf.device
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        words, terms = self.find_terms(documents.word_ids, labels)
        rows, terms, counts = count_pairs(segment_ids(lengths)[words], terms, labels.size)
        distinct_terms, places = distinct(terms, labels.size)
        known = terms < self.term_count
        on_host = rows, terms, counts, distinct_terms, places, known.nonzero().squeeze(1)
        rows, terms, counts, distinct_terms, places, of_known = (send(x, device) for x in on_host)
        mask = send(known, device) if labels.new else None
        size = len(lengths)
        return DocumentTerms(rows, terms, counts, distinct_terms, places, of_known, mask, size)

    def _shared(self, found: DocumentTerms, labels: Bags) -> "_Shared":
        """Find the terms that documents and labels share.

        On a device the labels' other terms stay, with zeros: it need not tell the host their
        number.
        """
        weight = self._weight(labels.size)
        device = weight.device
        rows, terms, counts, distinct_terms, places, of_known, known, size = found
        # `index_select`, as the gradient of an index is added up in no fixed order by two threads
        weights = weight.index_select(0, terms)
        values = (1 + counts.to(weight.dtype).log()) * weights
        own = values.index_select(0, of_known), rows.index_select(0, of_known)
        values = values / norms(*own, size).index_select(0, rows)
        compact, absent = device.type == "cpu", len(distinct_terms)
        zeros = values.new_zeros(absent + (not compact), size)
        table = zeros.index_put((places, rows), values * weights)
        # of the labels' terms, those that some document has
        place = terms.new_full((labels.size,), -1 if compact else absent)
        place[distinct_terms] = torch.arange(absent, device=device)
        columns = place[labels.terms]
        owners, sizes = segment_ids(labels.lengths, labels.terms), labels.lengths
        kept = (columns >= 0) & (columns < absent)
        some, longer = owners[:0], None
        new = kept & (labels.terms >= self.term_count) if labels.new else kept
        if known is not None and new.any():  # few labels have such terms: documents are longer
            others = ~known
            squares = zeros.index_put((places[others], rows[others]), values[others] ** 2)
            some, sizes_of_some = torch.unique(owners[new], return_counts=True)
            of_new = columns[new]
            squares = multiply(squares, of_new, squares.new_ones(len(of_new)), sizes_of_some)
            longer = (1 + squares).sqrt()
        counts = labels.counts
        if compact:
            kept = kept.nonzero().squeeze(1)  # to index by a mask takes four times as long
            sizes = owners[kept].bincount(minlength=len(sizes))
            columns, counts = columns[kept], counts[kept]
        else:
            distinct_terms = F.pad(distinct_terms, (0, 1), value=-1)
        tf = 1 + counts.to(weight.dtype).log()
        factors = self._factors(labels)
        return _Shared(distinct_terms, table, columns, tf, sizes, factors, some, longer)


class _Shared(NamedTuple):
    """The terms of K labels that some of B documents has, label after label.

    Shapes: ``terms`` [U] distinct terms of the documents; ``table`` [U, B] their weights in the
    documents; ``columns`` [M] the place of each shared term among these; ``weights`` [M] of
    the terms in the labels; ``lengths`` [K] shared terms of each label; ``factors`` [K] of the
    products; ``with_new`` [L] the labels with terms that are new; ``longer``
    [L, B], by how much these make the documents longer, if there are any.
    """

    terms: Tensor
    table: Tensor
    columns: Tensor
    weights: Tensor
    lengths: Tensor
    factors: Tensor
    with_new: Tensor
    longer: Tensor | None


def norms(values: Tensor, rows: Tensor, size: int) -> Tensor:
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
        rows = segment_ids(lengths, columns)
        return (
            sum_by_id(gradients[0].contiguous(), rows, columns, context.rows, weights),
            None,
            None,
            None,
        )


def multiply(table: Tensor, columns: Tensor, weights: Tensor, lengths: Tensor) -> Tensor:
    """Multiply a sparse matrix [K, U] with a dense one [U, B], which gets a gradient.

    Row k of the sparse matrix has ``lengths[k]`` entries: the next of the ``weights`` [N], in the
    next of the ``columns`` [N]. Both passes are embedding bags, the backward one of the transposed
    matrix.
    """
    if not len(columns):  # an embedding bag without entries has no backward pass
        return table.sum() * 0 + table.new_zeros(len(lengths), table.shape[1])
    product: Tensor = _Multiply.apply(  # type: ignore[no-untyped-call]
        table, columns, weights, lengths
    )
    return product
