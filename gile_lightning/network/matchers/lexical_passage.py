"""Lexical matching of the best passage of a document."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from gile_lightning.common.errors import positive
from gile_lightning.data.loading.ragged import Texts, segment_ids, segment_starts, send
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.segments import document_words
from gile_lightning.network.matchers.lexical import LexicalLabels, LexicalMatch, norms
from gile_lightning.network.matchers.matcher import LOGIT_SCALE, EncodeTexts

RARITY = math.log(2)  # the idf of a word of half of the training documents


class Postings(NamedTuple):
    """The labels that have a word, word by word: an inverted index of the bags of K labels.

    Shapes: ``labels``, ``terms`` and ``counts`` [N], the latter how often a label has a stem; they
    are in the order of the terms, and where the scores are computed.
    ``lengths`` [V + new words], the labels of every stem, and ``stems`` [V + new words], the stem
    of every word, are on the host. ``label_count`` is K; ``new`` is that of `Bags`.
    """

    labels: Tensor
    terms: Tensor
    counts: Tensor
    lengths: Tensor
    stems: Tensor
    label_count: int
    new: bool


class IndexedLabels(LexicalLabels):
    """The bags of words of a label set, which are indexed by word as they are selected."""

    def select(self, ids: Tensor) -> Postings:
        """Return the index of the labels ``ids`` [K]."""
        bags = self.on_host(ids)
        order = bags.terms.argsort(stable=True)
        found = segment_ids(bags.lengths)[order], bags.terms[order], bags.counts[order]
        labels, terms, counts = (send(x, self.place.device) for x in found)
        lengths = bags.terms.bincount(minlength=bags.size)
        return Postings(labels, terms, counts, lengths, bags.stems, len(bags.lengths), bags.new)


class Passages(NamedTuple):
    """The passages of B documents, one document after another, on the host.

    Shapes: ``counts`` [B] passages of each document; ``rows``, ``terms`` and ``times`` [E], each
    stem of a passage once: the passage, the stem, and how often it is there; ``entries`` [B], how
    many of these a document has; ``words`` and ``places`` [M], for each occurrence the number of
    the word among all words, and the stem's place among the E.
    """

    counts: Tensor
    rows: Tensor
    terms: Tensor
    times: Tensor
    entries: Tensor
    words: Tensor
    places: Tensor


class LexicalPassage(LexicalMatch):
    """A learned scale times the highest cosine of a passage with the label, as bags of words.

    A long text has words of a label here and there that have nothing to do with each other. In a
    passage they stand together. Passages have ``size`` words, and each begins in the middle of the
    one before. Words are weighted as in `LexicalMatch`, with learned factors of their own, but
    those of more than half of the training documents count nothing: nearly all that a passage
    shares with any label are such words.

    What passages and labels share is looked up in an inverted index of the labels' words. Documents
    come one after another, so that one table of passages x labels is in memory.

    Args:
        tokenizer: has the vocabulary.
        stemmer: see `LexicalMatch`.
        scale: the scale before training.
        synonyms: see `LexicalMatch`.
        size: of a passage, in words.
    """

    called = "words of a passage"

    def __init__(
        self,
        tokenizer: Tokenizer,
        stemmer: str | None = None,
        scale: float = 3.0,
        synonyms: bool = True,
        size: int = 12,
    ) -> None:
        positive(size=size)
        super().__init__(tokenizer, stemmer, scale, synonyms)
        self.size = size
        # of stems that count nothing, on the host; before words are counted, there is none
        self._common = torch.zeros(self.stem_count, dtype=torch.bool)

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Set the idf of stems; see `stem_rarity`."""
        super().count_words(frequencies, documents)
        self._find_common()

    def _load_from_state_dict(self, *args: Any) -> None:
        super()._load_from_state_dict(*args)
        self._find_common()

    def _find_common(self) -> None:
        self._common = (self.idf < RARITY).cpu()

    def _weight(self, size: int) -> Tensor:
        weight = super()._weight(size)
        common = F.pad(self.idf < RARITY, (0, size - self.stem_count))
        return weight.masked_fill(common, 0)

    def prepare_labels(
        self, tokenizer: Tokenizer, labels: LabelSet, encode: EncodeTexts
    ) -> IndexedLabels:
        """Count the words of the labels' names, texts and synonyms."""
        return IndexedLabels(super().prepare_labels(tokenizer, labels, encode).bags)

    def forward(self, documents: Texts, labels: Any) -> Tensor:
        """Score documents against the words of K labels, as `Postings`: [B, K]."""
        passages = self._passages(documents, labels)
        values, squares, tf, factors = self._weights(passages, labels)
        best: Tensor = _Best.apply(values, squares, tf, passages, labels)  # type: ignore[no-untyped-call]
        return best * factors

    def by_word(self, documents: Texts, labels: Any) -> Tensor:
        """Return what each word of the best passages adds to the scores of its document: [N, K].

        The occurrences of a stem in the passage share evenly what the stem adds.
        """
        passages = self._passages(documents, labels)
        values, squares, tf, factors = self._weights(passages, labels)
        _, best, longer = _best(values, squares, tf, passages, labels)
        owners = segment_ids(passages.counts)[passages.rows]
        on_host = (passages.rows, passages.terms, passages.times, owners)
        rows, terms, times, owners = (send(x, values.device) for x in on_host)
        distinct, columns = torch.unique(terms, return_inverse=True)
        place = distinct.new_full((len(labels.lengths),), -1)
        place[distinct] = torch.arange(len(distinct), device=place.device)
        at = place[labels.terms]
        shared = at >= 0
        of_labels = values.new_zeros(len(distinct), labels.label_count)
        of_labels[at[shared], labels.labels[shared]] = tf[shared]
        added = (values / times).unsqueeze(1) * of_labels[columns] * factors / longer[owners]
        added *= best[owners] == rows.unsqueeze(1)
        words, places = (send(x, values.device) for x in (passages.words, passages.places))
        found = added.new_zeros(len(documents.word_ids), labels.label_count)
        return found.index_add_(0, words, added[places])

    def _passages(self, documents: Texts, labels: Postings) -> Passages:
        """Cut documents into passages, and count the stems of each."""
        documents = documents.to(labels.stems.device)
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        step = max(1, self.size // 2)
        behind = (lengths - self.size).clamp(min=0)  # the words behind the first passage
        counts = (lengths > 0).long() + (behind + step - 1) // step
        owners = segment_ids(counts)
        starts = (torch.arange(len(owners)) - segment_starts(counts)[owners]) * step
        sizes = (lengths[owners] - starts).clamp(max=self.size)
        rows = segment_ids(sizes)
        shift = segment_starts(lengths)[owners] + starts - segment_starts(sizes)
        words = torch.arange(len(rows)) + shift[rows]
        ids = documents.word_ids[words]
        size, terms = len(labels.lengths), labels.stems[ids.long()]
        counts_something = F.pad(~self._common, (0, size - self.stem_count), value=True)
        kept = (ids != self.unknown) & counts_something[terms]
        rows, words, terms = rows[kept], words[kept], terms[kept]
        pairs, places, times = torch.unique(
            rows * size + terms, return_inverse=True, return_counts=True
        )
        rows = pairs // size
        entries = owners[rows].bincount(minlength=len(lengths))
        return Passages(counts, rows, pairs % size, times, entries, words, places)

    def _weights(
        self, passages: Passages, labels: Postings
    ) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:
        """Return the numbers that scores are made of.

        Returns:
            What each stem of a passage adds to the product with a label that has it once [E]; the
            squares of the weights of new words [E], 0 for others, if there are any: these make the
            passage longer for labels that have them; 1 + log c of the postings [N]; and what turns
            a product into a score [K].
        """
        weight = self._weight(len(labels.lengths))
        old = passages.terms < self.stem_count
        on_host = (passages.rows, passages.terms, passages.times, old.nonzero().squeeze(1))
        rows, terms, times, of_old = (send(x, weight.device) for x in on_host)
        values = (1 + times.to(weight.dtype).log()) * weight[terms]
        values = values / norms(values[of_old], rows[of_old], int(passages.counts.sum()))[rows]
        squares = None
        if labels.new and not old.all():
            squares = values.detach().square().masked_fill(send(old, weight.device), 0)
        tf = 1 + labels.counts.to(weight.dtype).log()
        lengths = norms(tf * weight[labels.terms], labels.labels, labels.label_count)
        return values * weight[terms], squares, tf, self.scale * LOGIT_SCALE / lengths


class _Best(torch.autograd.Function):
    """The highest product of a passage of each document with each label [B, K]; see `_best`."""

    @staticmethod
    def forward(
        context: Any,
        values: Tensor,
        squares: Tensor | None,
        tf: Tensor,
        passages: Passages,
        labels: Postings,
    ) -> Tensor:
        products, best, longer = _best(values, squares, tf, passages, labels)
        context.save_for_backward(tf, best, longer)
        context.passages, context.labels, context.size = passages, labels, len(values)
        return products

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        tf, best, longer = context.saved_tensors
        gradient = gradient / longer
        found = gradient.new_zeros(context.size)
        for document, part in _by_document(context.passages, context.labels):
            chosen = best[document][part.labels] == part.rows
            added = gradient[document][part.labels] * tf[part.postings] * chosen
            found.index_add_(0, part.entries, added)
        return found, None, None, None, None


class _Part(NamedTuple):
    """What the passages of a document share with labels: a stem of a passage and of a label [M].

    The stem is the one of ``entries`` of `Passages`, and of ``postings``; ``rows`` and ``labels``
    are passage and label. The document has ``size`` passages, from ``first`` on.
    """

    entries: Tensor
    postings: Tensor
    rows: Tensor
    labels: Tensor
    first: int
    size: int


def _by_document(passages: Passages, labels: Postings) -> Iterator[tuple[int, _Part]]:
    """Yield what documents with words share with labels.

    Sizes are known on the host, so a device waits for nothing.
    """
    device = labels.labels.device
    lengths = labels.lengths[passages.terms]
    starts = segment_starts(labels.lengths)[passages.terms]
    rows = send(passages.rows, device)
    start = first = 0
    sizes = zip(passages.entries.tolist(), passages.counts.tolist(), strict=True)
    for document, (entries, count) in enumerate(sizes):
        some = slice(start, start + entries)
        total = int(lengths[some].sum())
        owners = segment_ids(lengths[some], labels.labels.new_empty(total))
        shift = send(starts[some] - segment_starts(lengths[some]), device)
        postings = shift[owners] + torch.arange(total, device=device)
        owners = owners + start
        if count:
            found = owners, postings, rows[owners], labels.labels[postings]
            yield document, _Part(*found, first, count)
        start, first = start + entries, first + count


def _best(
    values: Tensor, squares: Tensor | None, tf: Tensor, passages: Passages, labels: Postings
) -> tuple[Tensor, Tensor, Tensor]:
    """Find the best passage of each document for each label.

    Args:
        values: of the stems of passages [E].
        squares: of new words among them [E], if there are any.
        tf: of the postings [N].
        passages: of B documents.
        labels: the index of K labels.

    Returns:
        The products of the best passages with the labels [B, K], 0 for a document without a word;
        the numbers of these passages [B, K]; and by how much new words make them longer [B, K].
    """
    products = values.new_zeros(len(passages.counts), labels.label_count)
    best = torch.zeros_like(products, dtype=torch.long)
    longer = torch.ones_like(products)
    for document, part in _by_document(passages, labels):
        places = (part.rows - part.first) * labels.label_count + part.labels
        empty = values.new_zeros(part.size * labels.label_count)
        shape = part.size, labels.label_count
        table = empty.index_add(0, places, values[part.entries] * tf[part.postings]).view(shape)
        lengths = None
        if squares is not None:
            lengths = (1 + empty.index_add(0, places, squares[part.entries])).sqrt().view(shape)
            table /= lengths
        products[document], rows = table.max(0)
        best[document] = rows + part.first
        if lengths is not None:
            longer[document] = lengths.gather(0, rows.unsqueeze(0)).squeeze(0)
    return products, best, longer
