"""Articles about drawn headings."""

import itertools
from bisect import bisect
from collections.abc import Callable, Sequence
from random import Random
from string import Formatter
from typing import NamedTuple

from gile_lightning.builtin import lexicon
from gile_lightning.builtin.headings import HELD_OUT_FROM, Heading, concepts, headings
from gile_lightning.builtin.lexicon import Concept
from gile_lightning.builtin.names import (
    capital,
    compound_name,
    gene_name,
    lower,
    number_pools,
    place_name,
    rare_rank,
    strain_name,
)

FIRST_YEAR, LAST_YEAR = 1990, 2015
EARLY_SHARE = 0.625
DISTRACTION = 0.06
IMPLIED = 0.85

Pattern = tuple[str, tuple[str, ...]]


class View(NamedTuple):
    """How one article words a concept: first and second choice of words, and other forms.

    `names` are for titles, together with `rest`: the words which are no names.
    """

    words: tuple[str, ...]
    others: tuple[str, ...]
    attr: tuple[str, ...]
    gist: tuple[str, ...]
    names: tuple[str, ...]
    rest: tuple[str, ...]


class Era(NamedTuple):
    """What an article may be about: headings by rank, their weights, and those per concept."""

    ranked: tuple[Heading, ...]
    weights: tuple[float, ...]
    related: dict[int, tuple[Heading, ...]]


def _compile(pattern: str) -> Pattern:
    text, slots = "", []
    for literal, slot, _, _ in Formatter().parse(pattern):
        text += literal.replace("%", "%%")
        if slot:
            text += "%s"
            slots.append(slot)
    return text, tuple(slots)


def _compile_all(patterns: Sequence[str]) -> tuple[Pattern, ...]:
    return tuple(_compile(pattern) for pattern in patterns)


def _views(concept: Concept) -> tuple[View, ...]:
    # One view for each rotation of the words: articles differ in the words they prefer.
    words, names = concept.words, (concept.words[0], lower(concept.name))
    attr, gist = (lower(concept.attr),), (concept.gist,)
    turned = [words[i:] + words[:i] for i in range(len(words))]
    return tuple(
        View(t[:3], t[3:6], attr, gist, names, tuple(w for w in t if w not in names))
        for t in turned
    )


def _era(ranked: Sequence[tuple[int, Heading]]) -> Era:
    related: dict[int, list[Heading]] = {}
    for _, heading in ranked:
        for number in heading.concepts:
            related.setdefault(number, []).append(heading)
    # Zipf's law with an offset: a few frequent topics and a long tail.
    weights = itertools.accumulate(1.0 / (rank + 4.0) for rank, _ in ranked)
    return Era(
        tuple(heading for _, heading in ranked),
        tuple(weights),
        {number: tuple(group) for number, group in related.items()},
    )


_PARTS = {
    "B": ("background", "BACKGROUND: "), "A": ("aim", "OBJECTIVE: "), "M": ("methods", "METHODS: "),
    "R": ("results", "RESULTS: "), "F": ("", "RESULTS: "), "C": ("conclusion", "CONCLUSIONS: "),
}  # fmt: skip


class ArticleMaker:
    """Makes articles one after the other; equal seeds make equal articles."""

    def __init__(self, seed: int) -> None:
        """Prepare the patterns and the tables of topics."""
        self._draw: Callable[[], float] = Random(seed).random
        self._pools: dict[str, tuple[str, ...]] = {**lexicon.WORDS, **number_pools()}
        for key in ("adj", "design"):
            self._pools[key.capitalize()] = tuple(capital(word) for word in lexicon.WORDS[key])
        self._sentences = {k: _compile_all(v) for k, v in lexicon.SENTENCES.items()}
        self._facets = {k: _compile_all(v) for k, v in lexicon.FACET_SENTENCES.items()}
        self._titles = _compile_all(lexicon.TITLES)
        self._views = [_views(concept) for _, concept in concepts()]
        general = lexicon.GENERAL_HEADINGS.items()
        self._general = [(name, _compile_all(sentences)) for name, (_, sentences) in general]
        self._general_weights = list(itertools.accumulate(w for _, (w, _) in general))
        ranked = [(rank, h) for rank, h in enumerate(headings()) if h.concepts]
        self._late = _era(ranked)
        self._early = _era([(rank, h) for rank, h in ranked if not h.held_out])
        self._pmid = 1000
        self._seen: dict[int, View] = {}

    def article(self) -> dict[str, str | list[str]]:
        """The next article with the fields of BioASQ."""
        draw = self._draw
        early = draw() < EARLY_SHARE
        first, last = (FIRST_YEAR, HELD_OUT_FROM) if early else (HELD_OUT_FROM, LAST_YEAR + 1)
        year = first + int((last - first) * draw())
        topics = self._topics(self._early if early else self._late)
        general = self._general_picks()
        names = dict.fromkeys([topic.name for topic in topics] + [name for name, _ in general])
        for topic in topics:
            if len(topic.concepts) > 1:
                for number in topic.concepts:
                    if draw() < IMPLIED:
                        names[concepts()[number][1].name] = None
        self._begin(topics)
        title = self._title(topics)
        text = self._abstract(topics, [cues for _, cues in general])
        self._pmid += 1 + int(40 * draw())
        return {
            "abstractText": text,
            "journal": lexicon.JOURNALS[int(len(lexicon.JOURNALS) * draw())],
            "meshMajor": sorted(names),
            "pmid": str(self._pmid),
            "title": title,
            "year": str(year),
        }

    def _topics(self, era: Era) -> list[Heading]:
        draw = self._draw
        topics: list[Heading] = []
        number = 1 + bisect((0.15, 0.6), draw())
        while len(topics) < number:
            if topics and draw() < 0.5:
                # Topics of one article often have a concept in common.
                shared = topics[0].concepts
                group = era.related[shared[int(len(shared) * draw())]]
                u = draw()
                topic = group[int(len(group) * u * u)]
            else:
                topic = era.ranked[bisect(era.weights, draw() * era.weights[-1])]
            topics.append(topic)
        return topics

    def _general_picks(self) -> list[tuple[str, tuple[Pattern, ...]]]:
        weights, draw = self._general_weights, self._draw
        picks = {bisect(weights, draw() * weights[-1]): None for _ in range(1 + int(3 * draw()))}
        return [self._general[i] for i in picks]

    def _begin(self, topics: Sequence[Heading]) -> None:
        """Choose the article's invented names, and its words for each concept."""
        draw, pools = self._draw, self._pools
        pools["gene"] = (gene_name(rare_rank(1.0 - draw())), gene_name(rare_rank(1.0 - draw())))
        pools["compound"] = (compound_name(rare_rank(1.0 - draw())),)
        pools["strain"] = (strain_name(rare_rank(1.0 - draw())),)
        pools["place"] = (place_name(rare_rank(1.0 - draw())),)
        self._seen = {number: self._view(number) for t in topics for number in t.concepts}

    def _view(self, number: int) -> View:
        views = self._views[number]
        return views[int(len(views) * self._draw())]

    def _focus(self, topics: Sequence[Heading]) -> int:
        """Fill the pools of concept words for one sentence; the number of its concept."""
        draw, pools, seen = self._draw, self._pools, self._seen
        pair = topics[int(len(topics) * draw())].concepts
        focus = partner = pair[int(len(pair) * draw())]
        if len(pair) > 1:
            partner = pair[0] if focus == pair[1] else pair[1]
        elif len(seen) > 1:
            partner = list(seen)[int(len(seen) * draw())]
        view, other = seen[focus], seen[partner]
        if draw() < DISTRACTION:
            # A passing remark on something that the article is not about.
            focus = int(len(self._views) * draw())
            view = self._view(focus)
        if other is view:
            # No second concept: split the words, so that none comes twice in a sentence.
            pools["w"], pools["x"] = view.words[:2], view.words[2:]
            pools["v"], pools["z"] = view.others[:2], view.others[2:]
        else:
            pools["w"], pools["x"], pools["v"], pools["z"] = (*view[:2], *other[:2])
        pools["attr"], pools["gist"] = view.attr, view.gist
        return focus

    def _fill(self, patterns: Sequence[Pattern]) -> str:
        pools, draw = self._pools, self._draw
        text, slots = patterns[int(len(patterns) * draw())]
        values: list[str] = []
        for slot in slots:
            pool = pools[slot]
            u = draw()
            # The square prefers the first words of a pool.
            values.append(pool[int(len(pool) * u * u)])
        return capital(text % tuple(values))

    def _title(self, topics: Sequence[Heading]) -> str:
        pools, pair = self._pools, topics[0].concepts
        view, other = self._seen[pair[0]], self._seen[pair[-1]]
        pools["a"], pools["w"], pools["attr"] = view.names, view.rest[:2], view.attr
        pools["b"] = other.names if len(pair) > 1 else view.rest[2:4]
        pools["v"] = (other if len(pair) > 1 else view).rest[4:]
        pools["A"] = tuple([capital(name) for name in view.names])
        return self._fill(self._titles)

    def _abstract(self, topics: Sequence[Heading], cues: Sequence[Sequence[Pattern]]) -> str:
        draw = self._draw
        headed = draw() < 0.3
        parts: list[str] = []
        label = ""
        waiting = [cue for cue in cues if draw() < 0.75]
        for letter in lexicon.PLANS[int(len(lexicon.PLANS) * draw())]:
            part, title = _PARTS[letter]
            if waiting and title == "RESULTS: ":
                parts += [self._fill(cue) for cue in waiting]
                waiting = []
            focus = self._focus(topics)
            patterns = self._sentences[part] if part else self._facets[concepts()[focus][0]]
            sentence = self._fill(patterns)
            parts.append(title + sentence if headed and title != label else sentence)
            label = title
        return " ".join(parts)
