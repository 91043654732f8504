"""SKOS vocabularies: concepts with their names, definitions and hierarchy, in RDF.

The terms are those of the SKOS reference (W3C Recommendation, 18 August 2009).
"""

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.binary_file import BinaryFile
from gile_lightning.data.formats.descriptions import Described, composed, other_names
from gile_lightning.data.formats.skipped import Skipped

_BASE = "http://no.base/"  # of relative URIs, wherever the file lies
SERIALIZATIONS = {
    ".ttl": "turtle",
    ".rdf": "xml",
    ".xml": "xml",
    ".jsonld": "json-ld",
    ".nt": "nt",
}
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"


def read_concepts(
    path: Path | str, skipped: Skipped, language: str | None = None
) -> Iterator[Described]:
    """Read the concepts of a vocabulary as labels, in the order of their URIs.

    The name is ``skos:prefLabel``, and synonyms are ``skos:altLabel``. The description is
    ``skos:definition`` followed by ``skos:scopeNote``; parents are ``skos:broader``, or what has
    the concept as ``skos:narrower``. Where concepts have the same name, each is told apart by the
    end of its URI, "Bank (c_12)", and has the plain name as a synonym. Concepts that are
    ``owl:deprecated`` are left out and counted, and so are those without a URI, or without a name
    in the language. A URI that is relative in a file without a base stays so: ``#c_12``.

    Args:
        path: a file ``.ttl``, ``.rdf``, ``.xml``, ``.jsonld`` or ``.nt``, perhaps gzipped.
        skipped: counts what is left out.
        language: the tag of the texts that are read: ``en``, or else its regions (``en-GB``), or
            else texts without a tag. None for the only language of the names.

    Raises:
        InputError: the file cannot be read, has no concept with a name, or its names are in several
            languages and none is chosen; or rdflib is not installed.
    """
    yield from _Vocabulary(path, language).labels(skipped)


class _Vocabulary:
    """The graph of a file, asked for texts in one language."""

    def __init__(self, path: Path | str, language: str | None) -> None:
        self.path = path
        self.graph, self.node = _parse(path)
        found = {*self.graph.subjects(self.node(_RDF + "type"), self.node(_SKOS + "Concept"))}
        self.concepts = sorted(concept for concept in found if isinstance(concept, self.node))
        self.without_uri = len(found) - len(self.concepts)
        if not self.concepts:
            raise InputError(f"{path}: no skos:Concept with a URI in the file")
        self.language = self._only_language() if language is None else language.lower()

    def labels(self, skipped: Skipped) -> Iterator[Described]:
        skipped.add("concepts without a URI", str(self.path), self.without_uri)
        preferred: dict[Any, list[str]] = {}
        for concept in self.concepts:
            where = f"{self.path}: {_uri(concept)}"
            texts = self._texts(concept, "prefLabel")
            if any(str(x).lower() in ("true", "1") for x in self._all(concept, _DEPRECATED)):
                skipped.add("deprecated concepts", where)
            elif not texts:
                skipped.add(f"concepts without a preferred label in {self.language!r}", where)
            else:
                preferred[concept] = texts
        if not preferred:
            raise InputError(
                f"{self.path}: no concept has a skos:prefLabel in {self.language!r}; the names are "
                f"in {', '.join(self._languages()) or 'no language'} (label_language)"
            )
        names = _unique({concept: texts[0] for concept, texts in preferred.items()})
        for concept, name in names.items():
            where = f"{self.path}: {_uri(concept)}"
            others = [*preferred[concept], *self._texts(concept, "altLabel")]
            notes = [*self._texts(concept, "definition"), *self._texts(concept, "scopeNote")]
            above = {*self._all(concept, _SKOS + "broader")}
            above |= {*self.graph.subjects(self.node(_SKOS + "narrower"), concept)}
            known = sorted(x for x in above if x in names)  # a set of all keys would take seconds
            missing = len(above) - len(known)
            skipped.add("links to broader concepts that are left out", where, missing)
            parents = other_names(name, (names[x] for x in known))
            synonyms = tuple(other_names(name, others))
            yield Described(where, name, " ".join(notes), synonyms, tuple(parents), _uri(concept))

    def _all(self, concept: Any, term: str) -> Iterator[Any]:
        found: Iterator[Any] = self.graph.objects(concept, self.node(term))
        return found

    def _texts(self, concept: Any, term: str) -> list[str]:
        """Return a concept's texts in the language, in order of the alphabet.

        A note may be a resource of its own, whose text is its ``rdf:value``.
        """
        by_tag: dict[str, set[str]] = defaultdict(set)
        for found in self._all(concept, _SKOS + term):
            literals = [found] if hasattr(found, "language") else self._all(found, _RDF + "value")
            for literal in literals:
                text = composed(" ".join(str(literal).split()))
                if text:
                    by_tag[(getattr(literal, "language", None) or "").lower()].add(text)
        regions = [by_tag[tag] for tag in sorted(by_tag) if tag.startswith(f"{self.language}-")]
        for texts in (by_tag[self.language], set().union(*regions), by_tag[""]):
            if texts:
                return sorted(texts)
        return []

    def _languages(self) -> list[str]:
        names = (name for x in self.concepts for name in self._all(x, _SKOS + "prefLabel"))
        return sorted({(getattr(name, "language", None) or "").lower() for name in names} - {""})

    def _only_language(self) -> str:
        """Return the language of the preferred labels, "" where they have none.

        Raises:
            InputError: there are several.
        """
        languages = self._languages()
        if len(languages) > 1:
            raise InputError(
                f"{self.path}: the names are in {', '.join(languages)}; choose one "
                f"(label_language: {languages[0]})"
            )
        return languages[0] if languages else ""


def _uri(concept: Any) -> str:
    """Return the URI of a concept as the file has it."""
    return str(concept).removeprefix(_BASE)


def _unique(names: dict[Any, str]) -> dict[Any, str]:
    """Add the end of its URI, or all of it, to each name that several concepts have."""
    same: dict[str, list[Any]] = defaultdict(list)
    for concept, name in names.items():
        same[name].append(concept)
    found: dict[Any, str] = {}
    for concept, name in names.items():
        ends = [re.split(r"[/#]", str(x).rstrip("/#"))[-1] for x in same[name]]
        if len(ends) > 1:
            i = same[name].index(concept)
            name = f"{name} ({ends[i] if len(set(ends)) == len(ends) else _uri(concept)})"
        found[concept] = name
    return found


def _parse(path: Path | str) -> tuple[Any, Any]:
    """Return the graph of a file, and the class of its URIs."""
    try:
        import rdflib
    except ImportError as error:
        raise InputError(f"{path}: SKOS needs rdflib: pip install rdflib") from error
    kind = SERIALIZATIONS[Path(str(path).lower().removesuffix(".gz")).suffix]
    if kind == "json-ld":
        _check_contexts(path)
    try:
        with BinaryFile(path) as file:
            content = io.BytesIO(file.read())  # as one parser asks for more than to read
        graph = rdflib.Graph().parse(content, publicID=_BASE, format=kind)
    except InputError:
        raise
    except Exception as error:  # each parser has its own kinds
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: no RDF in the format {kind} ({reason:.200})") from error
    return graph, rdflib.URIRef


def _check_contexts(path: Path | str) -> None:
    """Refuse contexts that lie elsewhere: rdflib would fetch them, from the network or the disk."""
    try:
        with BinaryFile(path) as file:
            values = [json.loads(file.read())]
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: no RDF in the format json-ld ({reason:.200})") from error
    while values:
        value = values.pop()
        if isinstance(value, list):
            values += value
        elif isinstance(value, dict):
            contexts = value.get("@context", [])
            contexts = contexts if isinstance(contexts, list) else [contexts]
            for context in [*contexts, value.get("@import")]:
                if isinstance(context, str):
                    raise InputError(
                        f"{path}: the context {context!r} is not in the file, and no file from "
                        "elsewhere is read: write what it says under @context in its place"
                    )
            values += value.values()
