"""Topics, which the languages share in part, and their names: the labels."""

from functools import cache
from random import Random
from typing import NamedTuple

from gile_lightning.builtin.names import capital
from gile_lightning.builtin.news.concepts import FIELDS, lexicon, members
from gile_lightning.builtin.news.languages import LANGUAGES

GENERAL, SPECIFIC = 480, 1300
SKIPPED = 0.15

_DEFAULT = (40, 150), (36, 130), (32, 110), (28, 80), (24, 70), (30, 120), (26, 90), (24, 60)
_PAPER = (327, 1058), (367, 809), (159, 684), (95, 301), (28, 260), (102, 814), (91, 344), (71, 127)

DEFAULT_LABELS: dict[str, tuple[int, int]] = dict(zip(LANGUAGES, _DEFAULT, strict=True))
"""Number of general and of specific labels of each language."""

PAPER_LABELS: dict[str, tuple[int, int]] = dict(zip(LANGUAGES, _PAPER, strict=True))
"""The same as in the released models; the sums are those of the paper's Table 1."""


class Topic(NamedTuple):
    """What a label stands for.

    Attributes:
        field: the field of its words.
        core: the concepts that make it this topic, the weightiest first.
        name: those of them that its label names.
        parent: for a specific topic the number of the general one above it.
    """

    field: int
    core: tuple[int, ...]
    name: tuple[int, ...]
    parent: int = -1


class Topics(NamedTuple):
    """The topics of one language, frequent ones first.

    Attributes:
        general: the general topics.
        specific: the specific topics; `parent` is a place in `general`.
    """

    general: tuple[Topic, ...]
    specific: tuple[Topic, ...]


def _pick(pool: tuple[int, ...], number: int, rng: Random) -> tuple[int, ...]:
    return tuple(sorted(pool, key=lambda _: rng.random())[:number])


@cache
def inventory() -> Topics:
    """Every topic of any language.

    The first general topics are the fields themselves; the others are a part of one field with a
    bit of another. A specific topic is made of three concepts, mostly of the general topic above.
    """
    rng = Random("topics")
    used: set[frozenset[int]] = set()
    general: list[Topic] = []
    for number in range(GENERAL):
        field = number if number < FIELDS else int(FIELDS * rng.random())
        nouns = members(field, "noun")
        while True:
            core = nouns
            if number >= FIELDS:
                other = members(int(FIELDS * rng.random()), "noun")
                core = _pick(nouns, 5, rng) + _pick(other, 2, rng)
            name = core[: 1 + int(2 * rng.random())]
            if frozenset(name) not in used:
                break
        used.add(frozenset(name))
        general.append(Topic(field, core, name))
    specific: list[Topic] = []
    for number in range(SPECIFIC):
        # frequent topics lie below frequent ones, so that every language has both
        parent = int((FIELDS + number * (GENERAL - FIELDS) / SPECIFIC) * rng.random())
        field = general[parent].field
        aside = members(field, "noun") + members(field, "name")
        while True:
            core = _pick(_pick(general[parent].core, 2, rng) + _pick(aside, 1, rng), 3, rng)
            name = core[: 1 + int(3 * rng.random())]
            if len(set(core)) == 3 and frozenset(name) not in used:
                break
        used.add(frozenset(name))
        specific.append(Topic(field, core, name, parent))
    return Topics(tuple(general), tuple(specific))


@cache
def topics(language: str, number_general: int, number_specific: int) -> Topics:
    """A language's topics: those of the inventory but for some that it lacks.

    A specific topic whose general one is lacking belongs to the field itself, which no language
    lacks.
    """
    rng, every = Random(f"topics {language}"), inventory()
    has = [i < FIELDS or rng.random() >= SKIPPED for i in range(GENERAL)]
    kept = [i for i, there in enumerate(has) if there][:number_general]
    place = {number: i for i, number in enumerate(kept)}
    specific = [topic for topic in every.specific if rng.random() >= SKIPPED][:number_specific]
    return Topics(
        tuple(every.general[i] for i in kept),
        tuple(t._replace(parent=place.get(t.parent, t.field)) for t in specific),
    )


def label(topic: Topic, language: str) -> str:
    """The name of a topic in a language: one to three words in their first forms."""
    forms = lexicon(language).forms
    return capital(" ".join(forms[number][0] for number in topic.name))
