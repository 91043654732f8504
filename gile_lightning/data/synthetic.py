"""Built-in corpus: invented biomedical abstracts with headings, written as BioASQ files.

Headings name one concept of the lexicon ("Liver") or combine two ("Hepatic Fibrosis"), and each
has a scope note made of words which abstracts use as well. Some combinations occur only in
articles from `HELD_OUT_FROM` on, so that a split by year leaves labels unseen in training.

The headings are the same for every size and seed. Only `random.Random.random` and exact
arithmetic decide what is written, so equal arguments give equal bytes on every machine
(compressed files may differ in bytes, never in content, under another zlib).
"""

import argparse
import gzip
import itertools
import json
import os
import sys
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from random import Random
from string import Formatter
from typing import BinaryIO, Literal, NamedTuple, TextIO, cast, get_args
from xml.sax.saxutils import escape

from gile_lightning.data import lexicon
from gile_lightning.data.lexicon import Concept, Pair

VERSION: int = 1
"""Raised whenever the files change for equal arguments; part of cache keys."""

HELD_OUT_FROM: int = 2005
"""The first year in which held-out headings occur."""

FIRST_YEAR, LAST_YEAR = 1990, 2015
EARLY_SHARE = 0.625
HELD_OUT_SHARE = 0.18
HEADING_SEED = 20
RARE_SCALE = 60.0
DISTRACTION = 0.06
IMPLIED = 0.85

Descriptors = Literal["ascii", "xml"]
Pattern = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Heading:
    """A label: its record in the descriptor file and the concepts (by number) behind it."""

    name: str
    note: str
    entries: tuple[str, ...]
    trees: tuple[str, ...]
    concepts: tuple[int, ...] = ()
    held_out: bool = False


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


def lower(name: str) -> str:
    """The form of a heading inside a sentence: lower case but for acronyms and initials."""
    return " ".join(w if w.isupper() else w.lower() for w in name.split(" "))


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


# ---------------------------------------------------------------- headings


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


# ---------------------------------------------------------------- descriptor files


def _ascii_record(heading: Heading, ui: str) -> str:
    lines = ["*NEWRECORD", "RECTYPE = D", f"MH = {heading.name}"]
    lines += [f"ENTRY = {entry}" for entry in heading.entries]
    lines += [f"MN = {tree}" for tree in heading.trees]
    lines += [f"MS = {heading.note}"] if heading.note else []
    return "\n".join([*lines, f"UI = {ui}", "", ""])


def _xml_record(heading: Heading, ui: str) -> str:
    trees = "".join(f"<TreeNumber>{tree}</TreeNumber>" for tree in heading.trees)
    terms = "".join(
        f"<Term><String>{escape(term)}</String></Term>" for term in (heading.name, *heading.entries)
    )
    name = f"<String>{escape(heading.name)}</String>"
    note = f"   <ScopeNote>{escape(heading.note)}\n   </ScopeNote>\n" if heading.note else ""
    return (
        '<DescriptorRecord DescriptorClass="1">\n'
        f" <DescriptorUI>{ui}</DescriptorUI>\n"
        f" <DescriptorName>\n  {name}\n </DescriptorName>\n"
        f" <TreeNumberList>{trees}</TreeNumberList>\n"
        ' <ConceptList>\n  <Concept PreferredConceptYN="Y">\n'
        f"   <ConceptName>\n    {name}\n   </ConceptName>\n"
        f"{note}   <TermList>{terms}</TermList>\n"
        "  </Concept>\n </ConceptList>\n</DescriptorRecord>\n"
    )


def _descriptor_text(kind: Descriptors) -> Iterator[str]:
    record = _xml_record if kind == "xml" else _ascii_record
    if kind == "xml":
        yield '<?xml version="1.0"?>\n<!DOCTYPE DescriptorRecordSet SYSTEM "desc2016.dtd">\n'
        yield '<DescriptorRecordSet LanguageCode="eng">\n'
    for number, heading in enumerate(sorted(headings(), key=lambda h: h.name), 1):
        yield record(heading, f"D{number:06d}")
    if kind == "xml":
        yield "</DescriptorRecordSet>\n"


# ---------------------------------------------------------------- invented names and numbers


def rare_rank(u: float) -> int:
    """An open-ended rank for u in (0, 1]: few names come often and new ones never run out."""
    return min(int(RARE_SCALE * (1.0 / (u * u * u) - 1.0)), 10**9)


def _syllables(rank: int, number: int) -> tuple[str, int]:
    """The word made of `number` syllables for a rank, and what is left of the rank."""
    # A multiplicative hash, or names of neighbouring ranks would look alike.
    rest = (rank * 2654435761 + 97) % 2**32
    text = ""
    for _ in range(number):
        rest, onset = divmod(rest, len(lexicon.ONSETS))
        rest, nucleus = divmod(rest, len(lexicon.NUCLEI))
        text += lexicon.ONSETS[onset] + lexicon.NUCLEI[nucleus]
    return text, rest


def gene_name(rank: int) -> str:
    """An invented gene: "Tran4", "BREK-2"."""
    text, rest = _syllables(rank, 1)
    rest, coda = divmod(rest, len(lexicon.CODAS))
    text += lexicon.CODAS[coda]
    number = rest % 40
    return f"{text.upper()}-{number}" if rest % 3 == 0 else f"{text.capitalize()}{number or ''}"


def compound_name(rank: int) -> str:
    """An invented drug: "velostat"."""
    text, rest = _syllables(rank, 2)
    return text + lexicon.DRUG_ENDINGS[rest % len(lexicon.DRUG_ENDINGS)]


def strain_name(rank: int) -> str:
    """An invented strain: "Kl-417"."""
    text, rest = _syllables(rank, 1)
    return f"{text.capitalize()}-{rest % 1000}"


def place_name(rank: int) -> str:
    """An invented place: "Valdora"."""
    text, rest = _syllables(rank, 2)
    return capital(text) + lexicon.PLACE_ENDINGS[rest % len(lexicon.PLACE_ENDINGS)]


def _interval(i: int) -> str:
    middle, spread = 10 + i % 37, 2 + i % 7
    return f"{middle / 10}, 95% CI {(middle - spread) / 10}-{(middle + 2 * spread) / 10}"


def _number_pools() -> dict[str, tuple[str, ...]]:
    months = tuple(f"{i} {u}" for i in (6, 12, 3, 24, 2, 18, 5, 8) for u in ("months", "weeks"))
    years = tuple(f"{i} years" for i in range(2, 12))
    days = tuple(f"{i} days" for i in range(2, 30))
    return {
        "n": tuple(str(12 + 31 * i % 87) for i in range(87)),
        "m": tuple(str(i) for i in range(100, 480)),
        "age": tuple(str(i) for i in range(40, 89)),
        "dose": tuple(str(i) for i in (5, 10, 20, 50, 100, 2, 40, 25, 200, 15, 250)),
        "pct": tuple(f"{i}%" for i in range(4, 96)) + tuple(f"{i / 10}%" for i in range(11, 990)),
        "num": tuple(f"{i / 10}" for i in range(11, 480)),
        "r": tuple(f"0.{i}" for i in range(21, 94)),
        "p": ("p < 0.001", "p < 0.05", "P < 0.01", *(f"p = 0.{i:03d}" for i in range(1, 400))),
        "ci": tuple(_interval(i) for i in range(250)),
        "time": months + years + days,
    }


# ---------------------------------------------------------------- articles


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
        self._pools: dict[str, tuple[str, ...]] = {**lexicon.WORDS, **_number_pools()}
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
            # No second concept: share out the words, so that none comes twice in a sentence.
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


# ---------------------------------------------------------------- files


@contextmanager
def _writing(path: Path, compress: bool = False) -> Iterator[TextIO]:
    """Open a text file that takes its name only when it is complete."""
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as raw:
        binary = cast(BinaryIO, gzip.GzipFile("", "wb", 6, raw, mtime=0)) if compress else raw
        with TextIOWrapper(binary, encoding="ascii", newline="\n") as text:
            yield text
    os.replace(part, path)


def write_bioasq(
    directory: Path | str,
    documents: int = 12_000,
    seed: int = 0,
    *,
    descriptors: Descriptors = "ascii",
    compress: bool = False,
    progress: bool = False,
) -> None:
    """Write the built-in corpus: the articles and the descriptors of their headings.

    Args:
        directory: Where the files go; made if missing.
        documents: Number of articles, at least 1.
        seed: Decides the articles; the descriptors are always the same.
        descriptors: `"ascii"` writes `d2016_builtin.bin`, `"xml"` writes `desc2016_builtin.xml`.
        compress: Write the articles as `allMeSH_builtin.json.gz`, not `allMeSH_builtin.json`.
        progress: Report progress on standard error.

    Raises:
        ValueError: If `documents` is below 1 or `descriptors` is not one of the two formats.
    """
    if documents < 1:
        raise ValueError(f"documents must be at least 1, got {documents}")
    if descriptors not in get_args(Descriptors):
        raise ValueError(f"descriptors must be 'ascii' or 'xml', got {descriptors!r}")
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    name = "desc2016_builtin.xml" if descriptors == "xml" else "d2016_builtin.bin"
    with _writing(folder / name) as out:
        out.writelines(_descriptor_text(descriptors))
    maker = ArticleMaker(seed)
    encode = json.JSONEncoder().encode
    with _writing(folder / ("allMeSH_builtin.json" + ".gz" * compress), compress) as out:
        out.write('{"articles":[\n')
        for number in range(1, documents + 1):
            out.write(encode(maker.article()) + (",\n" if number < documents else "\n"))
            if progress and (number % 20_000 == 0 or number == documents):
                print(f"{number} of {documents} articles written", file=sys.stderr)
        out.write("]}\n")


def main(args: list[str] | None = None) -> None:
    """Write the built-in corpus from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m gile_lightning.data.synthetic",
        description="Write the built-in corpus in the file formats of BioASQ and of NLM.",
    )
    parser.add_argument("directory", type=Path, help="where the files go; made if missing")
    parser.add_argument("--documents", type=int, default=12_000, help="number of articles")
    parser.add_argument("--seed", type=int, default=0, help="decides the articles")
    parser.add_argument("--descriptors", choices=get_args(Descriptors), default="ascii")
    parser.add_argument("--compress", action="store_true", help="gzip the articles")
    parser.add_argument("--quiet", action="store_true", help="do not report progress")
    given = parser.parse_args(args)
    try:
        write_bioasq(
            given.directory,
            given.documents,
            given.seed,
            descriptors=given.descriptors,
            compress=given.compress,
            progress=not given.quiet,
        )
    except (ValueError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
