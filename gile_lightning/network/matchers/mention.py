"""Names of labels that stand in a document."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from gile_lightning.common.errors import positive
from gile_lightning.data.loading.ragged import Texts, segment_ids, segment_starts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.encoder import document_words
from gile_lightning.network.matchers.matcher import UNIT, Matcher, MatcherLabels, Read
from gile_lightning.network.matchers.stems import stem_ids, stem_rarity

_FACTOR = 0x2545F4914F6CDD1D  # odd: a word moves all higher bits of a phrase's key
_MIX = -0x61C8864680B583EB  # 2^64 over the golden ratio


class Phrases(NamedTuple):
    """The names and synonyms of a label set, and the labels that are asked for.

    Shapes: ``keys`` [P] sorted; ``beginnings`` [Q] the keys of what longer phrases begin with,
    sorted; ``labels`` [P]; ``stems`` [V + new words]; ``places`` [all labels] where a label stands
    among those asked for, or -1. ``longest`` is the number of words of the longest phrase, ``size``
    that of the labels asked for.
    """

    keys: Tensor
    beginnings: Tensor
    labels: Tensor
    stems: Tensor
    places: Tensor
    longest: int
    size: int


class PhraseIndex(MatcherLabels):
    """The names and synonyms of a label set."""

    keys: Tensor
    beginnings: Tensor
    labels: Tensor
    stems: Tensor

    def __init__(
        self,
        keys: Tensor,
        beginnings: Tensor,
        labels: Tensor,
        stems: Tensor,
        longest: int,
        size: int,
    ) -> None:
        super().__init__()
        self.register_buffer("keys", keys, persistent=False)
        self.register_buffer("beginnings", beginnings, persistent=False)
        self.register_buffer("labels", labels, persistent=False)
        self.register_buffer("stems", stems, persistent=False)
        self.longest = longest
        self.size = size

    def gather(self, ids: Tensor) -> Phrases:
        """Return all phrases, as a longer one hides a shorter one, and the places of labels [K]."""
        places = ids.new_full((self.size,), -1)
        places[ids] = torch.arange(len(ids), device=ids.device)
        parts = self.keys, self.beginnings, self.labels, self.stems, places
        return Phrases(*parts, self.longest, len(ids))


class NameMention(Matcher):
    """What it tells that a label's name or synonym stands in the document, word by word.

    For a pair of which a phrase occurs, the score is the sum of six features times weights that
    are learned: 1; the log of how often; whether it occurs in the first sentence or piece (the
    title); how many words the longest occurring phrase has beyond one; whether every occurrence
    lies inside that of a longer phrase ("Abdomen" in "acute abdomen"); the log of one over the
    share of the training documents in which the rarest word of it occurs. All others have 0. At
    the start the first weight is 1 and the others are 0. A phrase does not go on from one sentence
    to the next; one that has an unknown word is not looked for (where the vocabulary is that of
    given word vectors, and texts are without all other words, so are phrases).

    Args:
        text: has the vocabulary. Words of names that no training document has belong there
            (``data.label_words``).
        stemmer: the language, as the Snowball stemmers name it, whose endings are taken off
            words before they are compared; null compares words as they are, and is the choice for
            a model of several languages, which all get this stemmer.
        max_words: longer phrases are not looked for.
        synonyms: whether a label's synonyms are looked for too.
    """

    rarity: Tensor
    stems: Tensor

    def __init__(
        self,
        text: Tokenizer,
        stemmer: str | None = None,
        max_words: int = 8,
        synonyms: bool = True,
    ) -> None:
        positive(max_words=max_words)
        super().__init__()
        self.synonyms = synonyms
        self.stemmer = stemmer
        self.max_words = max_words
        self.unknown = len(text.vocabulary) - 1
        stems = stem_ids(text.vocabulary, stemmer)
        self.register_buffer("stems", stems, persistent=False)
        self.register_buffer("rarity", torch.zeros(int(stems.max()) + 1))
        self.weight = nn.Parameter(torch.tensor([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]) / UNIT)

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Set how rare words are: log((1 + N) / (1 + n))."""
        self.rarity.copy_(stem_rarity(self.stems, frequencies, documents))

    def index(self, text: Tokenizer, labels: LabelSet, read: Read) -> PhraseIndex:
        """Look up the words of names and synonyms; a phrase with an unknown word is left out."""
        of_words = stem_ids([*text.vocabulary, *text.further], self.stemmer)
        stems = of_words.tolist()
        phrases: dict[tuple[tuple[int, ...], int], None] = {}
        for i, name in enumerate(labels.names):
            for phrase in (name, *(labels.synonyms[i] if self.synonyms else ())):
                ids = text.word_ids(text.words(phrase))
                if 0 < len(ids) <= self.max_words and self.unknown not in ids:
                    phrases[tuple(stems[word] for word in ids), i] = None
        longest = max((len(phrase) for phrase, _ in phrases), default=0)
        keys = torch.zeros(len(phrases), dtype=torch.long)
        beginnings = [keys[:0]]
        for n in range(longest):
            longer = [j for j, (phrase, _) in enumerate(phrases) if len(phrase) > n]
            words = torch.tensor([phrase[n] for phrase, _ in phrases if len(phrase) > n])
            if n:
                beginnings.append(keys[longer])
            keys[longer] = _extend(keys[longer], words)
        keys, order = keys.sort()
        label_ids = torch.tensor([label for _, label in phrases], dtype=torch.long)
        begin = torch.unique(torch.cat(beginnings))
        return PhraseIndex(keys, begin, label_ids[order], of_words, longest, len(labels))

    def forward(self, documents: Texts, labels: Phrases) -> Tensor:
        """Score documents against K labels: [B, K]."""
        size = len(documents.document_lengths), labels.size
        rows, columns, features = self.features(documents, labels)
        scores = self.weight.new_zeros(size)
        return scores.index_put((rows, columns), (features * self.weight).sum(1) * UNIT)

    def features(self, documents: Texts, labels: Phrases) -> tuple[Tensor, Tensor, Tensor]:
        """Find the pairs of which a phrase occurs.

        Returns:
            Documents [M], places of labels [M] and features [M, 6].
        """
        words = labels.stems[documents.word_ids.long()]
        starts, sizes, phrases = find_phrases(words, documents.sentence_lengths, labels)
        inside = _inside_longer(starts, sizes, len(words))
        columns = labels.places[labels.labels[phrases]]
        kept = columns >= 0
        starts, sizes, inside, columns = (x[kept] for x in (starts, sizes, inside, columns))
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        rows = segment_ids(lengths)[starts]
        sentences = segment_ids(documents.sentence_lengths)[starts]
        in_first = sentences == segment_starts(documents.document_lengths)[rows]
        new = words >= len(self.rarity)  # to the vocabulary: as rare as any
        known = self.rarity[words.masked_fill(new, 0)].masked_fill(new, self.rarity.max())
        rarity = _largest(known, starts, sizes, labels.longest)
        pairs, places, counts = torch.unique(
            rows * labels.size + columns, return_inverse=True, return_counts=True
        )

        def most(values: Tensor) -> Tensor:
            least = torch.full_like(pairs, -1, dtype=self.weight.dtype)
            return least.scatter_reduce(0, places, values.to(least), "amax")

        features = [
            torch.ones_like(pairs, dtype=self.weight.dtype),
            counts.to(self.weight.dtype).log(),
            most(in_first),
            most(sizes) - 1,
            1 - most(~inside),
            most(rarity),
        ]
        return pairs // max(1, labels.size), pairs % max(1, labels.size), torch.stack(features, 1)


def _extend(keys: Tensor, words: Tensor) -> Tensor:
    """Return the keys of phrases that go on with these words; numbers wrap around."""
    keys = (keys ^ (words + 1) * _MIX) * _FACTOR
    return keys ^ (keys >> 29)


def find_phrases(
    words: Tensor, sentence_lengths: Tensor, phrases: Phrases
) -> tuple[Tensor, Tensor, Tensor]:
    """Find all occurrences of phrases within sentences.

    Args:
        words: stems [N].
        sentence_lengths: of the sentences [S], in words.
        phrases: what to look for.

    Returns:
        Of H occurrences the place of the first word, the number of words, and the phrase's place
        in ``phrases.keys``; shorter ones first. A phrase of several labels occurs for each.
    """
    ends = sentence_lengths.cumsum(0)[segment_ids(sentence_lengths)]
    starts = torch.arange(len(words), device=words.device)
    keys = torch.zeros_like(starts)
    found = []
    for n in range(1, phrases.longest + 1):
        keys = _extend(keys, words[starts + n - 1])
        first, hits = _find(phrases.keys, keys)
        times = torch.searchsorted(phrases.keys, keys[hits], right=True) - first
        total = times.cumsum(0)
        which = torch.arange(int(total[-1]) if len(total) else 0, device=words.device)
        which += (first - total + times).repeat_interleave(times)
        found.append((starts[hits].repeat_interleave(times), torch.full_like(which, n), which))
        _, on = _find(phrases.beginnings, keys)
        on = on[starts[on] + n < ends[starts[on]]]
        starts, keys = starts[on], keys[on]
    if not found:
        nothing = starts[:0]
        return nothing, nothing, nothing
    places, sizes, which = (torch.cat(parts) for parts in zip(*found, strict=True))
    return places, sizes, which


def _find(table: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Return where keys stand first in a sorted table, of the M that do, and which those are."""
    if not len(table):
        return keys[:0], keys[:0]
    places = torch.searchsorted(table, keys)
    found = (table[places.clamp(max=len(table) - 1)] == keys).nonzero().squeeze(1)
    return places[found], found


def _inside_longer(starts: Tensor, sizes: Tensor, words: int) -> Tensor:
    """Whether each of H occurrences lies inside a longer one."""
    reach = starts.new_zeros(words + 1)
    reach.scatter_reduce_(0, starts, starts + sizes, "amax")
    before = reach.cummax(0).values.roll(1)  # how far occurrences that begin earlier reach
    before[0] = 0
    ends = starts + sizes
    return (before[starts] >= ends) | (reach[starts] > ends)


def _largest(values: Tensor, starts: Tensor, sizes: Tensor, longest: int) -> Tensor:
    """Return the largest of the values [N] in each of H runs, of at most ``longest`` values."""
    found = values[starts]
    for n in range(1, longest):
        found = torch.maximum(found, values[starts + torch.clamp(sizes - 1, max=n)])
    return found
