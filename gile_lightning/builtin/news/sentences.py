"""Sentences about a topic: patterns whose slots are filled with drawn words."""

import itertools
from bisect import bisect
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import NamedTuple

from gile_lightning.builtin.names import capital
from gile_lightning.builtin.news.concepts import COMMON, FIELDS, lexicon, members
from gile_lightning.builtin.news.languages import SPEECH
from gile_lightning.builtin.news.topics import Topic

# Slots: n noun, m name, a action, q quality of the sentence's topic; c, o, b, r the same of no
# topic; y a number; function words and phrases as in `Speech`.
CLAUSES = (
    "P v a p C", "C v b p Q", "m b k P a", "P p C e a", "R v a p m", "P v e r", "p C b P p y c",
    "o v b p P", "Q a C p R", "e b C p P",
)  # fmt: skip
TITLES = ("n a p Q q C", "m b Q p C", "Q p C v a n", "C b p n p R", "m a R p n c")
PATTERNS = 256
SHORTEST, LONGEST = 8, 25
ONE_CLAUSE, TWO_CLAUSES = 0.25, 0.85
POOL = 256  # so that one random byte picks a word
QUESTIONS, EXCLAMATIONS = 0.06, 0.03

Words = tuple[str, ...]


class Pattern(NamedTuple):
    """A sentence without its words: a format string and the slots for it."""

    text: str
    slots: str


def zipf(number: int) -> list[float]:
    """Summed weights of Zipf's law with an offset: a few frequent ranks and a long tail."""
    return list(itertools.accumulate(1.0 / (rank + 4.0) for rank in range(number)))


@cache
def _places(rows: int) -> tuple[tuple[int, int], ...]:
    """Which row and which form of it: more of the first rows and forms than of the last."""
    weights = zipf(rows)
    picks = [bisect(weights, weights[-1] * i / POOL) for i in range(POOL)]
    return tuple((row, (0, 1, 0, 2, 0, 1)[i % 6]) for i, row in enumerate(picks))


def _spread(rows: Sequence[Words]) -> Words:
    """The `POOL` words among which a slot picks, from rows of inflected forms."""
    return tuple([rows[row][form % len(rows[row])] for row, form in _places(len(rows))])


def _pattern(clauses: Sequence[str], language: str) -> Pattern:
    speech = SPEECH[language]
    expanded = ["".join(speech.phrases.get(s, s) for s in c if s != " ") for c in clauses]
    text = speech.comma.join(" ".join(["%s"] * len(clause)) for clause in expanded)
    return Pattern(text, "".join(expanded))


def _patterns(language: str) -> tuple[Pattern, ...]:
    rng, patterns = Random(f"sentences {language}"), list[Pattern]()
    while len(patterns) < PATTERNS:
        number = 1 + bisect((ONE_CLAUSE, TWO_CLAUSES), rng.random())
        clauses = [CLAUSES[int(len(CLAUSES) * rng.random())] for _ in range(number)]
        found = _pattern([clauses[0], *(f"k {clause}" for clause in clauses[1:])], language)
        if SHORTEST <= len(found.slots) <= LONGEST:
            patterns.append(found)
    return tuple(patterns)


class SentenceMaker:
    """Makes sentences of one language.

    Attributes:
        mean_words: words of a sentence on average.
        mean_title: words of a title on average.
    """

    def __init__(self, language: str, rng: Random) -> None:
        """Prepare the patterns and the words of each field; `rng` decides the sentences."""
        self._draw, self._bytes = rng.random, rng.randbytes
        self._question = SPEECH[language].question
        self._forms = lexicon(language).forms
        self._patterns = _patterns(language)
        self._titles = tuple(_pattern([title], language) for title in TITLES)
        self.mean_words = sum(len(p.slots) for p in self._patterns) / PATTERNS
        self.mean_title = sum(len(t.slots) for t in self._titles) / len(TITLES)
        every = range(FIELDS + 1)
        kinds = {"m": "name", "a": "action", "q": "quality"}
        self._of_field = {
            slot: [self._pool(members(field, kind)) for field in every]
            for slot, kind in kinds.items()
        }
        self._pools: dict[str, Words] = {
            "c": self._pool(members(COMMON, "noun")),
            "y": tuple(str(2 + i * i % 1999) for i in range(POOL)),
        }
        for slot, general in zip("maq", "obr", strict=True):
            self._pools[general] = self._of_field[slot][COMMON]
        for slot, words in SPEECH[language].functions.items():
            self._pools[slot] = _spread([(word,) for word in words])

    def _pool(self, concepts: Sequence[int]) -> Words:
        """The `POOL` words for concepts, the first of which come most often."""
        return _spread([self._forms[number] for number in concepts])

    def words(self, topic: Topic, nouns: Sequence[int]) -> dict[str, Words]:
        """The words of a topic by slot: nouns for the given concepts, the others of its field."""
        rest = {slot: pools[topic.field] for slot, pools in self._of_field.items()}
        return {"n": self._pool(nouns), **rest}

    def about(self, words: dict[str, Words]) -> None:
        """Choose the words of the sentences to come."""
        self._pools.update(words)

    def sentence(self) -> str:
        """A sentence with a mark at its end."""
        text, u = self._fill(self._patterns), self._draw()
        if u < QUESTIONS:
            return text + self._question
        return text + ("!" if u < QUESTIONS + EXCLAMATIONS else ".")

    def title(self) -> str:
        """A headline, most often without a mark at its end."""
        text = self._fill(self._titles)
        return text + self._question if self._draw() < QUESTIONS else text

    def _fill(self, patterns: Sequence[Pattern]) -> str:
        pools = self._pools
        text, slots = patterns[int(len(patterns) * self._draw())]
        picks = zip(slots, self._bytes(len(slots)), strict=True)
        return capital(text % tuple([pools[slot][byte] for slot, byte in picks]))
