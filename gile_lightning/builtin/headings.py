"""Headings with their scope notes, made of the lexicon's concepts."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from gile_lightning.builtin import lexicon
from gile_lightning.builtin.lexicon import Concept, Pair
from gile_lightning.builtin.names import capital, lower

HELD_OUT_FROM: int = 2005
"""The first year in which held-out headings occur."""

HELD_OUT_SHARE = 0.18
HEADING_SEED = 20


@dataclass(frozen=True)
class Heading:
    """A label: its record in the descriptor file and the concepts (by number) behind it."""

    name: str
    note: str
    entries: tuple[str, ...]
    trees: tuple[str, ...]
    concepts: tuple[int, ...] = ()
    held_out: bool = False


_LETTERS = {
    "site": "A", "bacteria": "B", "pathogen": "B", "condition": "C", "drug": "D",
    "antibacterial": "D", "procedure": "E", "method": "E", "population": "M",
}  # fmt: skip


@cache
def concepts() -> tuple[tuple[str, Concept], ...]:
    """All concepts with their facets; a concept's number is its place in this tuple."""
    return tuple((facet, c) for facet, group in lexicon.CONCEPTS.items() for c in group)


def _pick_words(words: Sequence[str], number: int, rng: Random) -> list[str]:
    return sorted(words, key=lambda _: rng.random())[:number]


def _concept_note(concept: Concept, rng: Random) -> str:
    words = _pick_words(concept.words[1:], 4, rng)
    pattern = lexicon.CONCEPT_NOTES[int(len(lexicon.CONCEPT_NOTES) * rng.random())]
    slots = {f"w{i}": word for i, word in enumerate(words, 1)}
    return capital(pattern.format(Ag=capital(concept.gist), ag=concept.gist, **slots))


def _pair_note(pair: Pair, a: Concept, b: Concept, rng: Random) -> str:
    w1, w2 = _pick_words(a.words, 2, rng)
    v1, v2 = _pick_words(b.words, 2, rng)
    pattern = pair.notes[int(len(pair.notes) * rng.random())]
    slots = {"ag": a.gist, "bg": b.gist, "Bg": capital(b.gist)}
    slots |= {"aa": lower(a.attr), "ba": lower(b.attr), "w1": w1, "w2": w2, "v1": v1, "v2": v2}
    return capital(pattern.format(**slots))


def _single_headings(rng: Random) -> list[Heading]:
    result: list[Heading] = []
    used: dict[str, int] = {}
    for number, (facet, concept) in enumerate(concepts()):
        letter = _LETTERS[facet]
        used[letter] = used.get(letter, 0) + 1
        tree = f"{letter}{used[letter]:02d}"
        note = _concept_note(concept, rng)
        result.append(Heading(concept.name, note, concept.entries, (tree,), (number,)))
    return result


def _pair_headings(singles: Sequence[Heading], rng: Random) -> list[Heading]:
    result: list[Heading] = []
    children = [0] * len(singles)
    for pair in lexicon.PAIRS:
        sides = [[i for i, (f, _) in enumerate(concepts()) if f == facet] for facet in pair.facets]
        every = sorted(itertools.product(*sides), key=lambda _: rng.random())
        for i, j in every[: pair.number]:
            a, b = concepts()[i][1], concepts()[j][1]
            names = [f.format(A=a.attr, a=a.name, B=b.attr, b=b.name) for f in pair.headings]
            if rng.random() < 0.3:
                names.reverse()
            trees: list[str] = []
            for parent in (i, j):
                children[parent] += 1
                trees.append(f"{singles[parent].trees[0]}.{100 + 5 * children[parent]}")
            entries = tuple(names[1:]) if rng.random() < 0.6 else ()
            note = _pair_note(pair, a, b, rng)
            result.append(Heading(names[0], note, entries, tuple(trees), (i, j)))
    return result


def _hold_out(pairs: Sequence[Heading], rng: Random) -> list[Heading]:
    # Each concept keeps at least two combinations, so that its words can be learnt before.
    left = [0] * len(concepts())
    for heading in pairs:
        for number in heading.concepts:
            left[number] += 1
    wanted = int(HELD_OUT_SHARE * len(pairs))
    held: dict[str, None] = {}
    for heading in sorted(pairs, key=lambda _: rng.random()):
        if len(held) < wanted and all(left[number] > 2 for number in heading.concepts):
            held[heading.name] = None
            for number in heading.concepts:
                left[number] -= 1
    return [Heading(h.name, h.note, h.entries, h.trees, h.concepts, h.name in held) for h in pairs]


@cache
def headings() -> tuple[Heading, ...]:
    """All headings, the most frequent topics first, the general ones (no note) at the end."""
    rng = Random(HEADING_SEED)
    singles = _single_headings(rng)
    pairs = _hold_out(_pair_headings(singles, rng), rng)
    ranked = sorted(singles + pairs, key=lambda _: rng.random())
    general = [
        Heading(name, "", (), (f"N{i:02d}",)) for i, name in enumerate(lexicon.GENERAL_HEADINGS, 1)
    ]
    return (*ranked, *general)
