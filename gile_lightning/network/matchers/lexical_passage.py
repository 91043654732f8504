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
        passages, weight = self._passages(documents, labels), self._weight(len(labels.lengths))
        values, squares = self._values(passages, labels, weight)
        tf = 1 + labels.counts.to(weight.dtype).log()
        best: Tensor = _Best.apply(values, tf, squares, passages, labels)  # type: ignore[no-untyped-call]
        return best * self._factors(labels, tf, weight)

    def by_word(self, documents: Texts, labels: Any) -> Tensor:
        """Return what each word of the best passages adds to the scores of its document: [N, K].

        The occurrences of a stem in the passage share evenly what the stem adds.
        """
        passages, weight = self._passages(documents, labels), self._weight(len(labels.lengths))
        values, squares = self._values(passages, labels, weight)
        tf = 1 + labels.counts.to(weight.dtype).log()
        _, best, longer = _best(values, tf, squares, passages, labels)
        owners = segment_ids(passages.counts)[passages.rows]
        device = values.device
        rows, terms, times, owners, places, words = (
            send(x, device)
            for x in (
                *(passages.rows, passages.terms, passages.times),
                *(owners, passages.places, passages.words),
            )
        )
        terms, columns = torch.unique(terms, return_inverse=True)
        at = torch.searchsorted(terms, labels.terms).clamp(max=max(0, len(terms) - 1))
        shared = terms[at] == labels.terms if len(terms) else at < 0
        of_labels = values.new_zeros(len(terms), labels.label_count)
        of_labels[at[shared], labels.labels[shared]] = tf[shared]
        added = (
            (values / times).unsqueeze(1) * of_labels[columns] * self._factors(labels, tf, weight)
        )
        added *= best[owners] == rows.unsqueeze(1)
        if longer is not None:
            added /= longer[owners]
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

    def _values(
        self, passages: Passages, labels: Postings, weight: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Return what each stem of a passage adds to the product with a label that has it once.

        Returns:
            The values [E]; and the squares of the weights of new words in their passage [E], 0 for
            others, if there is any: these make the passage longer for labels that have them.
        """
        old = passages.terms < self.stem_count
        of_old, device = old.nonzero().squeeze(1), weight.device
        rows, terms, times, of_old = (
            send(x, device) for x in (passages.rows, passages.terms, passages.times, of_old)
        )
        values = (1 + times.to(weight.dtype).log()) * weight[terms]
        values = values / norms(values[of_old], rows[of_old], int(passages.counts.sum()))[rows]
        squares = None
        if labels.new and not old.all():
            squares = values.detach().square().masked_fill(send(old, device), 0)
        return values * weight[terms], squares

    def _factors(self, labels: Postings, tf: Tensor, weight: Tensor) -> Tensor:
        """Return what turns products with bags of words into scores: [K]."""
        lengths = norms(tf * weight[labels.terms], labels.labels, labels.label_count)
        return self.scale * LOGIT_SCALE / lengths


class _Best(torch.autograd.Function):
    """The highest product of a passage of each document with each label [B, K]; see `_best`."""

    @staticmethod
    def forward(
        context: Any,
        values: Tensor,
        tf: Tensor,
        squares: Tensor | None,
        passages: Passages,
        labels: Postings,
    ) -> Tensor:
        products, best, longer = _best(values, tf, squares, passages, labels)
        context.save_for_backward(tf, best, longer)
        context.pairs, context.size = (passages, labels), len(values)
        return products

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        (tf, best, longer), (passages, labels) = context.saved_tensors, context.pairs
        if longer is not None:
            gradient = gradient / longer
        found = gradient.new_zeros(context.size)
        for document, part in _by_document(passages, labels):
            chosen = best[document][part.labels] == part.rows
            added = gradient[document][part.labels] * tf[part.postings] * chosen
            found.index_add_(0, part.entries, added)
        return found, None, None, None, None


class _Part(NamedTuple):
    """The stems that a document shares with labels, once for each passage and label [M].

    They are ``entries`` of `Passages` and ``postings``; ``rows`` are the passages, from
    ``first`` on, and ``labels`` the labels of both.
    """

    entries: Tensor
    postings: Tensor
    rows: Tensor
    labels: Tensor
    first: int


def _by_document(passages: Passages, labels: Postings) -> Iterator[tuple[int, _Part]]:
    """Yield what documents share with labels. Sizes are known on the host, so no device waits."""
    device = labels.labels.device
    lengths = labels.lengths[passages.terms]
    starts = segment_starts(labels.lengths)[passages.terms]
    rows = send(passages.rows, device)
    first = start = 0
    for document, (entries, count) in enumerate(
        zip(passages.entries.tolist(), passages.counts.tolist(), strict=True)
    ):
        some = slice(start, start + entries)
        total = int(lengths[some].sum())
        owners = segment_ids(lengths[some], labels.labels.new_empty(total))
        shift = starts[some] - segment_starts(lengths[some])
        postings = send(shift, device)[owners] + torch.arange(total, device=device)
        own = owners + start
        if count:
            yield document, _Part(own, postings, rows[own], labels.labels[postings], first)
        start, first = start + entries, first + count


def _best(
    values: Tensor,
    tf: Tensor,
    squares: Tensor | None,
    passages: Passages,
    labels: Postings,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Find the best passage of each document for each label.

    Args:
        values: of the stems of passages [E].
        tf: of the postings [N].
        squares: of new words among them [E], if there are any.
        passages: of B documents.
        labels: the index of K labels.

    Returns:
        The products of the best passages with the labels [B, K], 0 for a document without a word;
        the numbers of these passages [B, K]; and by how much new words make them longer [B, K], if
        there are any.
    """
    shape = len(passages.counts), labels.label_count
    products = values.new_zeros(shape)
    best = torch.zeros(shape, dtype=torch.long, device=values.device)
    longer = None if squares is None else values.new_ones(shape)
    counts = passages.counts.tolist()
    for document, part in _by_document(passages, labels):
        places = (part.rows - part.first) * labels.label_count + part.labels

        def added(
            amounts: Tensor, count: int = counts[document], places: Tensor = places
        ) -> Tensor:
            table = values.new_zeros(count * labels.label_count).index_add_(0, places, amounts)
            return table.view(count, labels.label_count)

        table = added(values[part.entries] * tf[part.postings])
        if squares is not None and longer is not None:
            lengths = (1 + added(squares[part.entries])).sqrt_()
            table /= lengths
        products[document], rows = table.max(0)
        best[document] = rows + part.first
        if squares is not None and longer is not None:
            longer[document] = lengths.gather(0, rows.unsqueeze(0)).squeeze(0)
    return products, best, longer
