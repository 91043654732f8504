"""The label set of a corpus: names, texts and training frequencies."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gile_lightning.common.errors import InputError


class LabelFacts(NamedTuple):
    """What is known of labels beside their texts, by their names. Each may lack labels.

    Attributes:
        synonyms: other names.
        uris: URIs.
        parents: the names of the labels right above in a hierarchy.
    """

    synonyms: Mapping[str, Sequence[str]] = {}
    uris: Mapping[str, str] = {}
    parents: Mapping[str, Sequence[str]] = {}

    def of(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the fields of a `LabelSet` of these names."""
        names = list(names)
        return {
            "synonyms": [list(self.synonyms.get(name, ())) for name in names],
            "uris": [self.uris.get(name, "") for name in names],
            "parents": [list(self.parents.get(name, ())) for name in names],
        }

    def before(self, others: "LabelFacts") -> "LabelFacts":
        """Return these facts, and those of labels that they lack; an empty fact is one too."""
        return LabelFacts(
            {**others.synonyms, **self.synonyms},
            {**others.uris, **self.uris},
            {**others.parents, **self.parents},
        )


@dataclass(frozen=True)
class LabelSet:
    """Labels in id order: those seen in training first, by falling frequency, then the unseen.

    Attributes:
        names: unique label names.
        texts: the text that describes each label.
        frequencies: training documents per label; 0 for an unseen label.
        documents: training documents that the frequencies were counted over; 0 if unknown. Two
            sets that differ in this alone are equal.
        synonyms: other names of each label; empty lists where there are none. If one of two sets
            has none at all, they can still be equal.
        uris: the URI of each label; empty where there is none. Compared as synonyms are.
        parents: the names of the labels right above each, which the set may lack; empty lists where
            there are none. Compared as synonyms are.
        ids: the ids of the names.
        seen: how many labels occur in training; they have the ids 0 to seen - 1.
    """

    names: list[str]
    texts: list[str]
    frequencies: list[int]
    documents: int = field(default=0, compare=False)
    synonyms: list[list[str]] = field(default_factory=list)
    uris: list[str] = field(default_factory=list)
    parents: list[list[str]] = field(default_factory=list)
    ids: dict[str, int] = field(init=False, repr=False, compare=False)
    seen: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seen", sum(frequency > 0 for frequency in self.frequencies))
        object.__setattr__(self, "ids", {name: i for i, name in enumerate(self.names)})
        for key in ("synonyms", "parents"):
            if not getattr(self, key):
                object.__setattr__(self, key, [[] for _ in self.names])
        if not self.uris:
            object.__setattr__(self, "uris", [""] * len(self.names))
        if not len(self.ids) == len(self.names) == len(self.texts) == len(self.frequencies):
            raise InputError("a label set needs unique names, and one text and frequency for each")
        for key in ("synonyms", "parents"):
            if len(getattr(self, key)) != len(self.names):
                raise InputError(f"a label set needs one list of {key} for each name, or none")
        if len(self.uris) != len(self.names):
            raise InputError("a label set needs one URI for each name, or none at all")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelSet):
            return NotImplemented
        for key in ("synonyms", "uris", "parents"):
            mine, theirs = getattr(self, key), getattr(other, key)
            if any(mine) and any(theirs) and mine != theirs:
                return False
        own = (self.names, self.texts, self.frequencies)
        return own == (other.names, other.texts, other.frequencies)

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def from_counts(
        cls,
        training: Counter[str],
        others: Iterable[str],
        texts: Mapping[str, str],
        documents: int = 0,
        facts: LabelFacts = LabelFacts(),  # noqa: B008 (immutable)
    ) -> "LabelSet":
        """Order the labels of the training documents, and those of other documents alone."""
        seen = sorted(training, key=lambda name: (-training[name], name))
        unseen = sorted(set(others) - set(training))
        names = seen + unseen
        frequencies = [training[name] for name in names]
        described = [texts[name] for name in names]
        return cls(names, described, frequencies, documents, **facts.of(names))

    def places_in(self, other: "LabelSet") -> list[int]:
        """Return the id of each label in another set, or -1 for one that is not in it.

        Labels that both have a URI are the same if their URIs are, whatever their names. Others are
        the same if their names are.
        """
        by_uri = {uri: i for i, uri in enumerate(other.uris) if uri}
        found = [by_uri.get(uri, -1) if uri else -1 for uri in self.uris]
        taken = set(found)
        for i, (name, uri) in enumerate(zip(self.names, self.uris, strict=True)):
            place = other.ids.get(name, -1)
            if found[i] < 0 <= place and place not in taken and not (uri and other.uris[place]):
                found[i] = place
        return found

    def renamed_parents(self, names: Mapping[str, str]) -> list[list[str]]:
        """Return the parents of each label, those in ``names`` by the names there."""
        return [[names.get(parent, parent) for parent in parents] for parents in self.parents]

    def joined(
        self,
        texts: Mapping[str, str],
        facts: LabelFacts = LabelFacts(),  # noqa: B008 (immutable)
    ) -> "LabelSet":
        """Return this set as the labels of a later corpus tell of it.

        A label that the corpus has too gets its name, text and facts there; see `places_in`. Of
        facts that the corpus lacks it keeps its own. Another label stays, unless the corpus has
        given its name to a label with another URI.

        Args:
            texts: of the corpus' labels, by their names.
            facts: of these labels.
        """
        names = list(texts)
        later = LabelSet(names, list(texts.values()), [0] * len(names), **facts.of(names))
        kept: list[tuple[str, str, int, list[str], str, list[str]]] = []
        places = self.places_in(later)
        renamed = {self.names[i]: names[place] for i, place in enumerate(places) if place >= 0}
        own_parents = self.renamed_parents(renamed)
        for i, place in enumerate(places):
            source, at = (self, i) if place < 0 else (later, place)
            name = source.names[at]
            if place < 0 and name in later.ids:
                continue
            parents = later.parents[place] if place >= 0 else []
            known = (
                source.synonyms[at] or self.synonyms[i],
                source.uris[at] or self.uris[i],
                parents or own_parents[i],
            )
            kept.append((name, source.texts[at], self.frequencies[i], *known))
        return LabelSet(
            [label[0] for label in kept],
            [label[1] for label in kept],
            [label[2] for label in kept],
            self.documents,
            [label[3] for label in kept],
            [label[4] for label in kept],
            [label[5] for label in kept],
        )

    def extended(
        self,
        others: Iterable[str],
        texts: Mapping[str, str],
        facts: LabelFacts = LabelFacts(),  # noqa: B008 (immutable)
    ) -> "LabelSet":
        """Return this set, followed by further unseen labels."""
        new = sorted(set(others) - self.ids.keys())
        return LabelSet(
            self.names + new,
            self.texts + [texts[name] for name in new],
            self.frequencies + [0] * len(new),
            self.documents,
            **{key: getattr(self, key) + values for key, values in facts.of(new).items()},
        )

    def facts(self) -> LabelFacts:
        """Return what is known of the labels, by their names."""
        synonyms = dict(zip(self.names, self.synonyms, strict=True))
        parents = dict(zip(self.names, self.parents, strict=True))
        return LabelFacts(synonyms, self.uris_by_name(), parents)

    def uris_by_name(self) -> dict[str, str]:
        """Return the URIs of the labels that have one, by their names."""
        return {name: uri for name, uri in zip(self.names, self.uris, strict=True) if uri}

    def state(self) -> dict[str, Any]:
        """Return plain values, for JSON and checkpoints."""
        return {
            "names": self.names,
            "texts": self.texts,
            "frequencies": self.frequencies,
            "documents": self.documents,
            "synonyms": self.synonyms,
            **({"uris": self.uris} if any(self.uris) else {}),
            **({"parents": self.parents} if any(self.parents) else {}),
        }
