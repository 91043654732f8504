"""Learned lexical matching of documents and label texts."""

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
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.segments import document_words
from gile_lightning.network.matchers.matcher import (
    LOGIT_SCALE,
    EncodeTexts,
    Matcher,
    MatcherLabels,
)
from gile_lightning.network.matchers.stems import stem_ids, stem_rarity


class Bags(NamedTuple):
    """The bags of words of K labels, one after another.

    Shapes: ``terms`` [N] ids of stems, each once per label; ``counts`` [N], how often the label has
    it; ``lengths`` [K], the size of each bag; ``stems`` [V + new words], the stem of every word.
    ``size`` is above the id of every stem. Terms, counts and lengths are where the scores are
    computed; stems are on the host. ``new`` says whether any label has a word that is new to the
    vocabulary.
    """

    terms: Tensor
    counts: Tensor
    lengths: Tensor
    stems: Tensor
    size: int
    new: bool = False


class LexicalLabels(MatcherLabels):
    """The bags of words of a label set; see `Bags` for the shapes."""

    place: Tensor

    def __init__(self, bags: Bags) -> None:
        super().__init__()
        self.bags = bags  # on the host, where sizes are known
        self.starts = segment_starts(bags.lengths)
        self.register_buffer("place", torch.empty(0), persistent=False)  # moves with the model

    def select(self, ids: Tensor) -> Any:
        """Return the bags of the labels ``ids`` [K]: `Bags`."""
        bags = self.on_host(ids)
        terms, counts, lengths = (
            send(x, self.place.device) for x in (bags.terms, bags.counts, bags.lengths)
        )
        return bags._replace(terms=terms, counts=counts, lengths=lengths)

    def on_host(self, ids: Tensor) -> Bags:
        """Return the bags of the labels ``ids`` [K], on the host."""
        bags, ids = self.bags, ids.to(self.starts.device)
        terms, counts = (
            gather_segments(values, self.starts, bags.lengths, ids)
            for values in (bags.terms, bags.counts)
        )
        return bags._replace(terms=terms, counts=counts, lengths=bags.lengths[ids])


class LexicalMatch(Matcher):
    """A learned scale times the cosine of document and label as bags of weighted words.

    The weight of a word is its idf in the training documents, log((1 + N) / (1 + n)), times a
    learned factor, which is 1 before training; a word that occurs c times in a text counts
    1 + log c. So an untrained model ranks labels as TF-IDF does. The bag of a label has the words
    of its name, its whole text and its synonyms; a name that the text repeats counts twice. The
    unknown word counts nothing. A word that is new to the vocabulary (`Tokenizer.extended`) has the
    largest idf. It counts in the norm of a document only for labels that have it, so that other
    labels of the set change no score.

    Args:
        tokenizer: has the vocabulary. ``data.label_words`` adds words of label texts that no
            training document has.
        stemmer: the language of the Snowball stemmer that reduces words to stems before they are
            compared; null compares words as they are. A model of several languages needs null, as
            all languages get the same stemmer.
        scale: the scale before training.
        synonyms: whether the words of a label's synonyms are in its bag.
    """

    called = "words"
    idf: Tensor
    stems: Tensor

    def __init__(
        self,
        tokenizer: Tokenizer,
        stemmer: str | None = None,
        scale: float = 10.0,
        synonyms: bool = True,
    ) -> None:
        super().__init__()
        self.synonyms = synonyms
        self.stemmer = stemmer
        self.unknown = len(tokenizer.vocabulary) - 1
        stems = stem_ids(tokenizer.vocabulary, stemmer)
        self.stem_count = int(stems.max()) + 1
        self.register_buffer("stems", stems, persistent=False)
        self.scale = nn.Parameter(torch.tensor(scale / LOGIT_SCALE))
        self.log_factor = nn.Parameter(torch.zeros(self.stem_count))
        self.register_buffer("idf", torch.ones(self.stem_count))

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Set the idf of stems; see `stem_rarity`."""
        self.idf.copy_(stem_rarity(self.stems, frequencies, documents))

    def prepare_labels(
        self, tokenizer: Tokenizer, labels: LabelSet, encode: EncodeTexts
    ) -> LexicalLabels:
        """Count the words of the labels' names, texts and synonyms."""
        words: list[int] = []
        rows: list[int] = []
        for i, (name, synonyms) in enumerate(zip(labels.names, labels.synonyms, strict=True)):
            for text in (name, labels.texts[i], *(synonyms if self.synonyms else ())):
                ids = tokenizer.word_ids(tokenizer.words(text))
                ids = [word for word in ids if word != self.unknown]
                words += ids
                rows += [i] * len(ids)
        stems = stem_ids([*tokenizer.vocabulary, *tokenizer.further], self.stemmer)
        size = int(stems.max()) + 1
        of_words = stems[torch.tensor(words, dtype=torch.long)]
        rows_of, terms, counts = count_pairs(torch.tensor(rows, dtype=torch.long), of_words, size)
        lengths = rows_of.bincount(minlength=len(labels))
        new = bool((terms >= self.stem_count).any())
        return LexicalLabels(Bags(terms, counts, lengths, stems, size, new))

    def forward(self, documents: Texts, labels: Bags) -> Tensor:
        """Score documents against the words of K labels: [B, K]."""
        shared = self._shared(documents, labels)
        products = multiply(shared.table, shared.columns, shared.weights, shared.lengths)
        if shared.longer is not None:
            some = shared.with_new
            products = products.index_copy(0, some, products[some] / shared.longer)
        return (products * shared.factors.unsqueeze(1)).T

    def by_word(self, documents: Texts, labels: Bags) -> Tensor:
        """Return what each word adds to the scores of its document: [N, K].

        The occurrences of a stem share evenly what the stem adds.
        """
        documents = documents.to(labels.stems.device)
        shared = self._shared(documents, labels)
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        factors = shared.factors.unsqueeze(1).repeat(1, len(lengths))
        if shared.longer is not None:
            factors[shared.with_new] /= shared.longer
        owners = segment_ids(shared.lengths, shared.columns)
        added = shared.table[shared.columns] * shared.weights.unsqueeze(1) * factors[owners]
        stems = labels.stems[documents.word_ids.long()]
        rows = segment_ids(lengths)
        known = documents.word_ids != self.unknown
        pairs = rows[known] * labels.size + stems[known]
        _, places, counts = torch.unique(pairs, return_inverse=True, return_counts=True)
        found = added.new_zeros(len(stems), len(labels.lengths))
        of_stem = shared.terms[shared.columns]  # the stem of each row of what is added
        for stem, owner, row in zip(of_stem.tolist(), owners.tolist(), added, strict=True):
            here = (stems == stem) & known
            found[send(here, found.device), owner] = row[send(rows[here], found.device)]
        found[send(known, found.device)] /= send(counts[places], found.device).unsqueeze(1)
        return found

    def _weight(self, size: int) -> Tensor:
        """Return the weights of stems below ``size``, new ones among them."""
        weight = self.idf * self.log_factor.exp()
        if size == self.stem_count:
            return weight
        return torch.cat([weight, self.idf.amax().expand(size - self.stem_count)])

    def _shared(self, documents: Texts, labels: Bags) -> "_Shared":
        """Find the words that documents and labels share.

        On a device the labels' other words stay, with zeros: it need not tell the host their
        number.
        """
        weight = self._weight(labels.size)
        documents, device = documents.to(labels.stems.device), weight.device
        words = documents.word_ids
        known = words != self.unknown
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        stems = labels.stems[words[known].long()]
        rows, terms, counts = count_pairs(segment_ids(lengths)[known], stems, labels.size)
        distinct_terms, places = distinct(terms, labels.size)
        of_old = (terms < self.stem_count).nonzero().squeeze(1)
        old = terms < self.stem_count if labels.new else None
        sent = rows, terms, counts, distinct_terms, places, of_old
        rows, terms, counts, distinct_terms, places, of_old = (send(x, device) for x in sent)
        values = (1 + counts.to(weight.dtype).log()) * weight[terms]
        values = values / norms(values[of_old], rows[of_old], len(lengths))[rows]
        compact, absent = device.type == "cpu", len(distinct_terms)
        zeros = values.new_zeros(absent + (not compact), len(lengths))
        table = zeros.index_put((places, rows), values * weight[terms])
        # of the labels' words, those that some document has
        place = terms.new_full((labels.size,), -1 if compact else absent)
        place[distinct_terms] = torch.arange(absent, device=device)
        columns = place[labels.terms]
        owners, sizes = segment_ids(labels.lengths, labels.terms), labels.lengths
        tf = 1 + labels.counts.to(weight.dtype).log()
        kept = (columns >= 0) & (columns < absent)
        some, longer = owners[:0], None
        new = kept & (labels.terms >= self.stem_count) if labels.new else kept
        if old is not None and new.any():  # few labels have such words, which make documents longer
            old = send(old, device)
            squares = zeros.index_put((places[~old], rows[~old]), values[~old] ** 2)
            some, sizes_of_some = torch.unique(owners[new], return_counts=True)
            squares = multiply(squares, columns[new], torch.ones_like(tf[new]), sizes_of_some)
            longer = (1 + squares).sqrt()
        factors = norms(tf * weight[labels.terms], owners, len(sizes))
        factors = self.scale * LOGIT_SCALE / factors
        if compact:
            sizes = owners[kept].bincount(minlength=len(sizes))
            found = columns[kept], tf[kept], sizes, factors
        else:
            found = columns, tf, sizes, factors
            distinct_terms = F.pad(distinct_terms, (0, 1), value=-1)
        return _Shared(distinct_terms, table, *found, some, longer)


class _Shared(NamedTuple):
    """The words of K labels that some of B documents has, label after label.

    Shapes: ``terms`` [U] distinct stems of the documents; ``table`` [U, B] their weights in the
    documents; ``columns`` [M] the place of each shared word among the terms; ``weights`` [M] of
    the words in the labels; ``lengths`` [K] shared words of each label; ``factors`` [K] of the
    products; ``with_new`` [L] the labels with words that are new to the vocabulary; ``longer``
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
