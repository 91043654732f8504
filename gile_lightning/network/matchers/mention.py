"""Names of labels that occur in a document."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.language_name import find_stemmer
from gile_lightning.data.loading.flat import segment_ids, segment_starts, send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.segments import document_words
from gile_lightning.network.matchers.hierarchy import RELATIVES, Hierarchy
from gile_lightning.network.matchers.matcher import (
    LOGIT_SCALE,
    EncodeTexts,
    Matcher,
    MatcherLabels,
    Mention,
)
from gile_lightning.network.matchers.phrases import (
    Phrases,
    extend_keys,
    find_phrases,
    inside_longer,
    largest,
)
from gile_lightning.network.matchers.stems import stem_ids, stem_rarity

FEATURES = 9  # of a label that occurs in a document
TAXONOMY = 2 + RELATIVES  # further ones
WORDS = 50  # of a typical document


class MentionLabels(MatcherLabels):
    """The names and synonyms of a label set; see `Phrases` for the shapes."""

    def __init__(
        self,
        keys: Tensor,
        beginnings: Tensor,
        labels: Tensor,
        stems: Tensor,
        longest: int,
        size: int,
        names: Tensor,
        hierarchy: Hierarchy,
    ) -> None:
        super().__init__()
        # on the host, where phrases are searched for
        self.keys, self.beginnings, self.labels, self.stems = keys, beginnings, labels, stems
        self.names, self.hierarchy = names, hierarchy
        self.longest = longest
        self.size = size

    def select(self, ids: Tensor) -> Phrases:
        """Return all phrases, as any may hide a shorter one, and the columns of K labels."""
        ids = ids.to(self.keys.device)
        columns = ids.new_full((self.size,), -1)
        columns[ids] = torch.arange(len(ids), device=ids.device)
        tensors = self.keys, self.beginnings, self.labels, self.stems, columns
        return Phrases(*tensors, self.longest, len(ids), self.names, self.hierarchy)


class Occurrences(NamedTuple):
    """Names and synonyms that occur in documents.

    Attributes:
        words: the stems of the documents' words [N].
        phrases: the occurring phrases [M].
        columns: of their labels among those scored [M]; -1 for none.
        starts: the places of their first words [M].
        sizes: their words [M].
        inside: whether they lie within longer ones [M].
    """

    words: Tensor
    phrases: Tensor
    columns: Tensor
    starts: Tensor
    sizes: Tensor
    inside: Tensor


def _find(documents: Texts, labels: Phrases) -> Occurrences:
    """Find names and synonyms in documents, on the host."""
    words = labels.stems[documents.word_ids.long()]
    starts, sizes, phrases = find_phrases(words, documents.sentence_lengths, labels)
    inside = inside_longer(starts, sizes, len(words))
    columns = labels.columns[labels.labels[phrases]]
    return Occurrences(words, phrases, columns, starts, sizes, inside)


class NameMention(Matcher):
    """Scores a label by where and how often its name or a synonym occurs in the document.

    The score of a pair is the sum of its features times learned weights. The features of a label
    that occurs nowhere are 0; otherwise they are

    1. 1;
    2. the log of the number of occurrences;
    3. whether one is in the first sentence or piece (the title);
    4. the number of words of the longest phrase that occurs, minus one;
    5. whether every occurrence lies inside a longer phrase ("Abdomen" in "acute abdomen");
    6. the log of one over the share of the training documents that have its rarest word;
    7. where the first occurrence begins, as a share of the document;
    8. where the last one begins;
    9. the log of the document's number of words, over `WORDS`.

    With ``taxonomy`` there are `TAXONOMY` more, of what the label set tells beside names:

    10. whether the name itself occurs, not synonyms alone;
    11. one over the number of labels that have the phrase, of the phrase with the fewest;
    12. the log of 1 and the number of its parents that occur in the document too;
    13. the same of its children;
    14. the same of its siblings, the other children of its parents.

    Only labels of the set can occur. So training counts no parent that none of its documents has.

    Before training the first weight is 1 and the others are 0. ``hidden`` units of the same
    features make the score non-linear, as trees do in Maui (Medelyan, 2009) and in Annif's MLLM.
    They add nothing before training.

    A phrase does not continue across sentences. A phrase with an unknown word is never found.

    Args:
        tokenizer: has the vocabulary. ``data.label_words`` adds words of names that no training
            document has.
        stemmer: the language of the Snowball stemmer that reduces words to stems before they are
            compared; ``auto`` for that of the texts (``data.language``), if Snowball has it; null
            compares words as they are.
        max_words: longer phrases are not searched for.
        synonyms: whether synonyms are searched for too.
        hidden: the number of units with a ReLU; 0 for a linear score.
        taxonomy: whether there are the features 10 to 14.
    """

    called = "names"
    rarity: Tensor
    stems: Tensor

    def __init__(
        self,
        tokenizer: Tokenizer,
        stemmer: str | None = None,
        max_words: int = 8,
        synonyms: bool = True,
        hidden: int = 0,
        taxonomy: bool = False,
    ) -> None:
        positive(max_words=max_words)
        if hidden < 0:
            raise InputError(f"hidden is {hidden}; 0, for a linear score, or more units")
        super().__init__()
        self.synonyms = synonyms
        self.stemmer = find_stemmer(stemmer, tokenizer.language)
        self.max_words = max_words
        self.unknown = len(tokenizer.vocabulary) - 1
        stems = stem_ids(tokenizer.vocabulary, self.stemmer)
        self.register_buffer("stems", stems, persistent=False)
        self.register_buffer("rarity", torch.zeros(int(stems.max()) + 1))
        self.taxonomy = taxonomy
        features = FEATURES + TAXONOMY * taxonomy
        self.weight = nn.Parameter(torch.eye(features)[0] / LOGIT_SCALE)
        self.inner = self.outer = None
        if hidden:
            inner = torch.randn(hidden, features) / math.sqrt(features)
            self.inner, self.outer = nn.Parameter(inner), nn.Parameter(torch.zeros(hidden))

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Set the rarity of words: log((1 + N) / (1 + n)) for a word in n of N documents."""
        self.rarity.copy_(stem_rarity(self.stems, frequencies, documents))

    def prepare_labels(
        self, tokenizer: Tokenizer, labels: LabelSet, encode: EncodeTexts
    ) -> MentionLabels:
        """Hash names and synonyms, but those with an unknown word."""
        of_words = stem_ids([*tokenizer.vocabulary, *tokenizer.further], self.stemmer)
        stems = of_words.tolist()
        phrases: dict[tuple[tuple[int, ...], int], bool] = {}  # whether it is the name
        for i, name in enumerate(labels.names):
            for place, phrase in enumerate((name, *(labels.synonyms[i] if self.synonyms else ()))):
                ids = tokenizer.word_ids(tokenizer.words(phrase))
                if 0 < len(ids) <= self.max_words and self.unknown not in ids:
                    phrases.setdefault((tuple(stems[word] for word in ids), i), place == 0)
        longest = max((len(phrase) for phrase, _ in phrases), default=0)
        keys = torch.zeros(len(phrases), dtype=torch.long)
        beginnings = [keys[:0]]
        for n in range(longest):
            longer = [j for j, (phrase, _) in enumerate(phrases) if len(phrase) > n]
            words = torch.tensor([phrase[n] for phrase, _ in phrases if len(phrase) > n])
            if n:
                beginnings.append(keys[longer])
            keys[longer] = extend_keys(keys[longer], words)
        keys, order = keys.sort()
        label_ids = torch.tensor([label for _, label in phrases], dtype=torch.long)
        begin = torch.unique(torch.cat(beginnings))
        names = torch.tensor([*phrases.values()], dtype=torch.bool)[order]
        sizes = longest, len(labels)
        return MentionLabels(
            keys, begin, label_ids[order], of_words, *sizes, names, Hierarchy.of(labels)
        )

    def look_up(self, documents: Texts, labels: Phrases) -> Phrases:
        """Return phrases with the features of the labels that occur in documents."""
        return labels._replace(found=self.features(documents, labels))

    def forward(self, documents: Texts, labels: Phrases) -> Tensor:
        """Score documents against K labels: [B, K]."""
        size = len(documents.document_lengths), labels.size
        ahead = labels.found
        rows, columns, features = self.features(documents, labels) if ahead is None else ahead
        scores = self.weight.new_zeros(size)
        found = (features * self.weight).sum(1) * LOGIT_SCALE
        if self.inner is not None and self.outer is not None:
            with torch.autocast(features.device.type, enabled=False):
                found = found + torch.relu(features @ self.inner.T) @ self.outer
        return scores.index_put((rows, columns), found)

    def by_word(self, documents: Texts, labels: Phrases) -> Tensor:
        """Share the scores out to the words of all mentions of a label, evenly: [N, K]."""
        scores = self.forward(documents, labels)
        counts = scores.new_zeros(len(documents.word_ids), labels.size)
        for mention in self.mentions(documents, labels):
            counts[mention.start : mention.start + mention.size, mention.label] += 1
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        rows = segment_ids(lengths, counts)
        totals = counts.new_zeros(len(lengths), labels.size).index_add(0, rows, counts)
        return counts * (scores / totals.clamp(min=1))[rows]

    def mentions(self, documents: Texts, labels: Phrases) -> list[Mention]:
        """Return the names and synonyms of labels that occur, in the order of the documents."""
        at = _find(documents.to(labels.stems.device), labels)
        found = (x.tolist() for x in (at.columns, at.starts, at.sizes, at.inside))
        mentions = (Mention(*one) for one in zip(*found, strict=True) if one[0] >= 0)
        return sorted(mentions, key=lambda mention: (mention.start, mention.size))

    def features(self, documents: Texts, labels: Phrases) -> tuple[Tensor, Tensor, Tensor]:
        """Find the pairs of a document and a label that occurs in it.

        Returns:
            Documents [M], columns of labels [M] and features [M, F].
        """
        documents = documents.to(labels.stems.device)
        words, phrases, columns, starts, sizes, inside = _find(documents, labels)
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        scored = columns >= 0
        rows = segment_ids(lengths)[starts]
        further = self._taxonomy(rows, phrases, labels)[scored] if self.taxonomy else None
        starts, sizes, inside, columns, rows = (
            x[scored] for x in (starts, sizes, inside, columns, rows)
        )
        sentences = segment_ids(documents.sentence_lengths)[starts]
        in_first = sentences == segment_starts(documents.document_lengths)[rows]
        device = self.weight.device
        new = words >= len(self.rarity)  # not in the vocabulary: as rare as its rarest word
        known, of_new = send(words.masked_fill(new, 0), device), send(new, device)
        by_word = self.rarity[known].masked_fill(of_new, self.rarity.max())
        rarity = largest(by_word, send(starts, device), send(sizes, device), labels.longest)
        pairs, places, counts = torch.unique(
            rows * labels.size + columns, return_inverse=True, return_counts=True
        )

        def most(values: Tensor) -> Tensor:
            least = torch.full_like(pairs, -1, dtype=self.weight.dtype, device=values.device)
            where = places_there if values.device == device else places
            return send(least.scatter_reduce(0, where, values.to(least), "amax"), device)

        places_there = send(places, device)
        ones = torch.ones_like(pairs, dtype=self.weight.dtype)
        begin = (starts - segment_starts(lengths)[rows]) / lengths[rows]
        of_pair = pairs // max(1, labels.size)
        features = [
            send(ones, device),
            send(counts.to(ones).log(), device),
            most(in_first),
            most(sizes) - 1,
            1 - most(~inside),
            most(rarity),
            1 - most(1 - begin),
            most(begin),
            send((lengths[of_pair].to(ones) / WORDS).log(), device),
        ]
        if further is not None:
            features += [most(one) for one in further.unbind(1)]
        columns = pairs % max(1, labels.size)
        return send(of_pair, device), send(columns, device), torch.stack(features, 1)

    def _taxonomy(self, rows: Tensor, phrases: Tensor, labels: Phrases) -> Tensor:
        """Return the features 10 to 14 of each of H occurrences: [H, `TAXONOMY`]."""
        dtype = self.weight.dtype
        keys = labels.keys[phrases]
        beyond = torch.searchsorted(labels.keys, keys, right=True)
        share = 1 / (beyond - torch.searchsorted(labels.keys, keys)).to(dtype)
        relatives = labels.hierarchy.occurring(rows, labels.labels[phrases]).to(dtype).log1p()
        own = labels.names[phrases].to(dtype)
        return torch.cat([own.unsqueeze(1), share.unsqueeze(1), relatives], 1)
