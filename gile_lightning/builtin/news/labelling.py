"""Which labels a document has."""

from bisect import bisect
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gile_lightning.builtin.news.concepts import FIELDS
from gile_lightning.builtin.news.sentences import zipf
from gile_lightning.builtin.news.topics import Topics

SECOND_GENERAL = 0.45
TWO_SPECIFIC, THREE_SPECIFIC = 0.4, 0.75
FROM_BELOW, FROM_FIELD = 0.65, 0.9  # else any specific topic
AT_ONCE = 3


class Labels(NamedTuple):
    """Labels as places in the general and in the specific topics of a language."""

    general: tuple[int, ...]
    specific: tuple[int, ...]


class Labelling:
    """Draws the labels of documents: Zipf-like, specific ones mostly below the general ones."""

    def __init__(self, topics: Topics, draw: Callable[[], float]) -> None:
        """Prepare the tables; `draw` gives numbers from 0 (included) to 1 (excluded)."""
        self._draw = draw
        self._weights = zipf(len(topics.general)), zipf(len(topics.specific))
        every = range(len(topics.specific))
        self._fields = [topic.field for topic in topics.general]
        self._of_field: list[Sequence[int]] = [
            [i for i in every if topics.specific[i].field == field] or every
            for field in range(FIELDS)
        ]
        self._mates = [
            [i for i, field in enumerate(self._fields) if field == own] for own in range(FIELDS)
        ]
        self._below: list[list[int]] = [[] for _ in topics.general]
        for place, topic in enumerate(topics.specific):
            self._below[topic.parent].append(place)

    def cover(self) -> list[Labels]:
        """Labels of a few documents in which each label occurs."""
        rows: list[Labels] = []
        for place, below in enumerate(self._below):
            parts = [below[i : i + AT_ONCE] for i in range(0, len(below), AT_ONCE)] or [[]]
            rows += [Labels((place,), tuple(part)) for part in parts]
        return rows

    def any_topic(self, kind: int) -> int:
        """The place of a general (kind 0) or specific (kind 1) topic, frequent ones first."""
        weights = self._weights[kind]
        return bisect(weights, weights[-1] * self._draw())

    def labels(self, start: Labels | None = None) -> Labels:
        """One or two general and two to four specific labels, those of `start` among them."""
        draw = self._draw
        first = start.general[0] if start else self.any_topic(0)
        general = {first: None}
        if draw() < SECOND_GENERAL:
            mates = self._mates[self._fields[first]]
            same = draw() < 0.5
            general[mates[int(len(mates) * draw())] if same else self.any_topic(0)] = None
        specific = dict.fromkeys(start.specific if start else ())
        wanted, above = 2 + bisect((TWO_SPECIFIC, THREE_SPECIFIC), draw()), tuple(general)
        while len(specific) < wanted:
            place, u = above[int(len(above) * draw())], draw()
            if u >= FROM_FIELD:
                specific[self.any_topic(1)] = None
                continue
            below = self._below[place] if u < FROM_BELOW else ()
            group = below or self._of_field[self._fields[place]]
            rank = draw()  # squared: frequent topics are preferred
            specific[group[int(len(group) * rank * rank)]] = None
        return Labels(above, tuple(specific))
