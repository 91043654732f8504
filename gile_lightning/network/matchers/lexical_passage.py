"""Lexical matching of the best passage of a document."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gile_lightning.common.errors import positive
from gile_lightning.data.loading.flat import segment_ids, segment_starts, send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.segments import document_words
from gile_lightning.network.matchers.bag_match import BagLabels, Bags, norms
from gile_lightning.network.matchers.lexical import LexicalMatch
from gile_lightning.network.matchers.matcher import LOGIT_SCALE, EncodeTexts
from gile_lightning.network.matchers.passage_search import (
    Entries,
    Passages,
    Postings,
    best_passages,
    best_products,
    find_parts,
)

COMMON_IDF = math.log(2)  # of a word of half of the training documents


class IndexedLabels(BagLabels):
    """The bags of words of a label set, indexed by their stems."""

    def __init__(self, bags: Bags) -> None:
        super().__init__(bags)
        assert bags.stems is not None  # as terms are stems
        self._stems = bags.stems
        order = bags.terms.argsort(stable=True)
        self._labels = segment_ids(bags.lengths)[order]
        self._terms, self._times = bags.terms[order], bags.counts[order]

    def select(self, ids: Tensor) -> Postings:
        """Return the index of the labels ``ids`` [K]."""
        columns = torch.full((len(self.bags.lengths),), -1)
        columns[ids.cpu()] = torch.arange(len(ids), device="cpu")
        labels = columns[self._labels]
        kept = (labels >= 0).nonzero().squeeze(1)  # to index by a mask takes four times as long
        terms = self._terms[kept]
        frequencies = terms.bincount(minlength=self.bags.size)
        found = (send(x, self.place.device) for x in (labels[kept], terms, self._times[kept]))
        labels, terms, times = found
        return Postings(labels, terms, times, frequencies, self._stems, len(ids), self.bags.new)


class LexicalPassage(LexicalMatch):
    """A learned scale times the highest cosine of a passage with the label, as bags of words.

    A long text has words of a label here and there that have nothing to do with each other. In a
    passage they stand together. Passages have ``passage_words`` words, and each begins in the
    middle of the one before. Words are weighted as in `LexicalMatch`, with learned factors of their
    own, but those with an idf below log 2, which is that of a word of half of the training
    documents, count nothing: nearly all that a passage shares with any label are such words.

    What passages and labels share is looked up in an inverted index of the labels' stems: it takes
    time for each stem of a passage and each label that has it, and hardly any for labels that share
    none. Products of passages and labels are added up four million at a time, 16 MB, beside some 25
    MB for the pairs (on a GPU eight times as much).

    Args:
        tokenizer: has the vocabulary.
        stemmer: see `LexicalMatch`.
        scale: the scale before training.
        synonyms: see `LexicalMatch`.
        passage_words: the words of a passage.
    """

    called = "words of a passage"

    def __init__(
        self,
        tokenizer: Tokenizer,
        stemmer: str | None = None,
        scale: float = 3.0,
        synonyms: bool = True,
        passage_words: int = 12,
    ) -> None:
        positive(passage_words=passage_words)
        super().__init__(tokenizer, stemmer, scale, synonyms)
        self.passage_words = passage_words
        # of stems that count nothing, on the host; before words are counted, there is none
        self._common = torch.zeros(self.term_count, dtype=torch.bool)

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Set the idf of stems; see `stem_rarity`."""
        super().count_words(frequencies, documents)
        self._find_common()

    def _load_from_state_dict(self, *args: Any) -> None:
        super()._load_from_state_dict(*args)
        self._find_common()

    def _find_common(self) -> None:
        self._common = (self.idf < COMMON_IDF).cpu()

    def _weight(self, size: int) -> Tensor:
        weight = super()._weight(size)
        common = F.pad(self._common, (0, size - self.term_count))
        return weight.masked_fill(send(common, weight.device), 0)

    def prepare_labels(
        self, tokenizer: Tokenizer, labels: LabelSet, encode: EncodeTexts
    ) -> IndexedLabels:
        """Count the words of the labels' names, texts and synonyms."""
        return IndexedLabels(super().prepare_labels(tokenizer, labels, encode).bags)

    def look_up(self, documents: Texts, labels: Any) -> Any:
        """Return the index of labels with the passages of documents."""
        passages = self._passages(documents, labels)
        parts = list(find_parts(passages, labels))
        return labels._replace(passages=passages._replace(parts=parts))

    def forward(self, documents: Texts, labels: Any) -> Tensor:
        """Score documents against the words of K labels, as `Postings`: [B, K]."""
        found = labels.passages
        passages = self._passages(documents, labels) if found is None else found
        values, squares, tf, factors = self._weights(passages, labels)
        return best_products(values, squares, tf, passages, labels) * factors

    def by_word(self, documents: Texts, labels: Any) -> Tensor:
        """Return what each word of the best passages adds to the scores of its document: [N, K].

        The occurrences of a stem in the passage share evenly what the stem adds.
        """
        passages = self._passages(documents, labels)
        values, squares, tf, factors = self._weights(passages, labels)
        _, best, longer = best_passages(values, squares, tf, passages, labels, with_passages=True)
        owners = segment_ids(passages.counts)[passages.rows]
        on_host = (passages.rows, passages.terms, passages.times, owners)
        rows, terms, times, owners = (send(x, values.device) for x in on_host)
        distinct, columns = torch.unique(terms, return_inverse=True)
        place = distinct.new_full((len(labels.frequencies),), -1)
        place[distinct] = torch.arange(len(distinct), device=place.device)
        at = place[labels.terms]
        shared = at >= 0
        of_labels = values.new_zeros(len(distinct), labels.label_count)
        of_labels[at[shared], labels.labels[shared]] = tf[shared]
        added = (values / times).unsqueeze(1) * of_labels[columns] * factors
        if longer is not None:
            added /= longer[owners]
        assert best is not None  # as they are asked for
        added *= best[owners] == rows.unsqueeze(1)
        words, places = (send(x, values.device) for x in (passages.words, passages.places))
        found = added.new_zeros(len(documents.word_ids), labels.label_count)
        return found.index_add_(0, words, added[places])

    def _passages(self, documents: Texts, labels: Postings) -> Passages:
        """Cut documents into passages, and count the stems of each."""
        documents = documents.to(labels.stems.device)
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        step = max(1, self.passage_words // 2)
        behind = (lengths - self.passage_words).clamp(min=0)  # the words behind the first passage
        counts = (lengths > 0).long() + (behind + step - 1) // step
        owners = segment_ids(counts)
        starts = (torch.arange(len(owners)) - segment_starts(counts)[owners]) * step
        sizes = (lengths[owners] - starts).clamp(max=self.passage_words)
        rows = segment_ids(sizes)
        shift = segment_starts(lengths)[owners] + starts - segment_starts(sizes)
        words = torch.arange(len(rows)) + shift[rows]
        ids = documents.word_ids[words]
        size, terms = len(labels.frequencies), labels.stems[ids.long()]
        counts_something = F.pad(~self._common, (0, size - self.term_count), value=True)
        kept = ((ids != self.unknown) & counts_something[terms]).nonzero().squeeze(1)
        rows, words, terms = rows[kept], words[kept], terms[kept]
        pairs, places, times = torch.unique(
            rows * size + terms, return_inverse=True, return_counts=True
        )
        rows, terms, device = pairs // size, pairs % size, self.idf.device
        known = terms < self.term_count
        on_host = rows, terms, times, owners[rows], known.nonzero().squeeze(1)
        mask = send(known, device) if labels.new and not known.all() else None
        there = [send(x, device) for x in on_host]
        entries = Entries(there[0], there[1], there[2], there[3], there[4], mask)
        return Passages(counts, rows, terms, times, words, places, entries)

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
        weight = self._weight(len(labels.frequencies))
        rows, terms, times, _, of_known, known = passages.entries
        weights = weight.index_select(0, terms)  # see `BagMatch`
        values = (1 + times.to(weight.dtype).log()) * weights
        own = values.index_select(0, of_known), rows.index_select(0, of_known)
        sizes = norms(*own, int(passages.counts.sum()))
        values = values / sizes.index_select(0, rows)
        squares = None if known is None else values.square().masked_fill(known, 0)
        tf = 1 + labels.times.to(weight.dtype).log()
        return values * weights, squares, tf, self._factors(labels)

    def _factors(self, labels: Any) -> Tensor:
        """Return what turns the products of passages with K labels into scores: [K]."""
        found: Tensor | None = labels.factors
        if found is not None:
            return found
        weight = self._weight(len(labels.frequencies))
        values = (1 + labels.times.to(weight.dtype).log()) * weight.index_select(0, labels.terms)
        return self.scale * LOGIT_SCALE / norms(values, labels.labels, labels.label_count)
