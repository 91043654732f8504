"""The concepts that all languages have words for, and each language's words for them."""

from functools import cache
from itertools import pairwise
from random import Random
from typing import NamedTuple

from gile_lightning.builtin.names import capital
from gile_lightning.builtin.news.languages import FUNCTION_SLOTS, MARKS, SPEECH, Speech

FIELDS: int = 20
COMMON: int = FIELDS
"""The field of the words which any document may use."""

_OF_FIELD = {"noun": 20, "name": 4, "action": 5, "quality": 4}
_OF_ALL = {"noun": 30, "name": 8, "action": 15, "quality": 15}


ONE_SYLLABLE = 0.25
SHORTEST = 4  # letters: fewer are left to function words and abbreviations


class Concept(NamedTuple):
    """A meaning: its field (politics, sport, ...) and the kind of its words."""

    field: int
    kind: str


@cache
def concepts() -> tuple[Concept, ...]:
    """All concepts but those of function words; a concept's number is its place here."""
    sizes = [(field, _OF_FIELD) for field in range(FIELDS)] + [(COMMON, _OF_ALL)]
    return tuple(
        Concept(field, kind)
        for field, size in sizes
        for kind, number in size.items()
        for _ in range(number)
    )


@cache
def members(field: int, kind: str) -> tuple[int, ...]:
    """The numbers of a field's concepts of one kind."""
    return tuple(i for i, concept in enumerate(concepts()) if concept == (field, kind))


class Lexicon(NamedTuple):
    """The words of one language.

    Attributes:
        forms: the inflected forms of each concept as they are written inside a sentence.
        functions: function words, slot after slot, then the punctuation marks.
    """

    forms: tuple[tuple[str, ...], ...]
    functions: tuple[str, ...]


def _stem(speech: Speech, rng: Random) -> str:
    syllables = 1 if rng.random() < ONE_SYLLABLE else 2
    parts = (speech.onsets, speech.nuclei) * syllables + (speech.codas,)
    while True:
        drawn = [part[int(len(part) * rng.random())] for part in parts]
        written = [part for part in drawn if part]
        if all(a[-1] != b[0] for a, b in pairwise(written)):  # no letter doubled by chance
            return "".join(written)


@cache
def lexicon(language: str) -> Lexicon:
    """The words of a language, the same in every corpus; no two concepts share a form."""
    speech, rng = SPEECH[language], Random(f"words {language}")
    words = [word for slot in FUNCTION_SLOTS for word in speech.functions[slot]]
    used = set(words)
    rows: list[tuple[str, ...]] = []
    for concept in concepts():
        paradigms = speech.endings[concept.kind]
        forms: tuple[str, ...] = ()
        while not forms or min(map(len, forms)) < SHORTEST or not used.isdisjoint(forms):
            endings = paradigms[int(len(paradigms) * rng.random())]
            stem = _stem(speech, rng)
            forms = tuple(ending.replace("-", stem) for ending in endings)
        used.update(forms)
        upper = concept.kind == "name" or (concept.kind == "noun" and speech.capital_nouns)
        rows.append(tuple(map(capital, forms)) if upper else forms)
    own = {",": speech.comma.strip(), "?": speech.question}
    return Lexicon(tuple(rows), (*words, *(own.get(mark, mark) for mark in MARKS)))
