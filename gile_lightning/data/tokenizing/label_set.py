"""The label set of a corpus: names, texts and training frequencies."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gile_lightning.common.errors import InputError


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
        ids: the ids of the names.
        seen: how many labels occur in training; they have the ids 0 to seen - 1.
    """

    names: list[str]
    texts: list[str]
    frequencies: list[int]
    documents: int = field(default=0, compare=False)
    synonyms: list[list[str]] = field(default_factory=list)
    uris: list[str] = field(default_factory=list)
    ids: dict[str, int] = field(init=False, repr=False, compare=False)
    seen: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seen", sum(frequency > 0 for frequency in self.frequencies))
        object.__setattr__(self, "ids", {name: i for i, name in enumerate(self.names)})
        if not self.synonyms:
            object.__setattr__(self, "synonyms", [[] for _ in self.names])
        if not self.uris:
            object.__setattr__(self, "uris", [""] * len(self.names))
        if not len(self.ids) == len(self.names) == len(self.texts) == len(self.frequencies):
            raise InputError("a label set needs unique names, and one text and frequency for each")
        if len(self.synonyms) != len(self.names):
            raise InputError("a label set needs one list of synonyms for each name, or none at all")
        if len(self.uris) != len(self.names):
            raise InputError("a label set needs one URI for each name, or none at all")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelSet):
            return NotImplemented
        for mine, theirs in ((self.synonyms, other.synonyms), (self.uris, other.uris)):
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
        synonyms: Mapping[str, Sequence[str]] | None = None,
        uris: Mapping[str, str] | None = None,
    ) -> "LabelSet":
        """Order the labels of the training documents, and those of other documents alone."""
        seen = sorted(training, key=lambda name: (-training[name], name))
        unseen = sorted(set(others) - set(training))
        names = seen + unseen
        frequencies = [training[name] for name in names]
        described = [texts[name] for name in names]
        identifiers = [(uris or {}).get(name, "") for name in names]
        other_names = _listed(names, synonyms)
        return cls(names, described, frequencies, documents, other_names, identifiers)

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

    def joined(
        self,
        texts: Mapping[str, str],
        synonyms: Mapping[str, Sequence[str]] | None = None,
        uris: Mapping[str, str] | None = None,
    ) -> "LabelSet":
        """Return this set as the labels of a later corpus tell of it.

        A label that the corpus has too gets its name, text, synonyms and URI there; see
        `places_in`. Another one stays, unless the corpus has given its name to a label with another
        URI.

        Args:
            texts: of the corpus' labels, by their names.
            synonyms: their other names, by their names.
            uris: their URIs, by their names.
        """
        uris = uris or {}
        names = list(texts)
        later = LabelSet(
            names,
            list(texts.values()),
            [0] * len(names),
            synonyms=_listed(names, synonyms),
            uris=[uris.get(name, "") for name in names],
        )
        kept: list[tuple[str, str, int, list[str], str]] = []
        places = self.places_in(later)
        for i, place in enumerate(places):
            source, at = (self, i) if place < 0 else (later, place)
            name = source.names[at]
            if place < 0 and name in later.ids:
                continue
            uri, terms = source.uris[at] or self.uris[i], source.synonyms[at] or self.synonyms[i]
            kept.append((name, source.texts[at], self.frequencies[i], terms, uri))
        return LabelSet(
            [label[0] for label in kept],
            [label[1] for label in kept],
            [label[2] for label in kept],
            self.documents,
            [label[3] for label in kept],
            [label[4] for label in kept],
        )

    def extended(
        self,
        others: Iterable[str],
        texts: Mapping[str, str],
        synonyms: Mapping[str, Sequence[str]] | None = None,
        uris: Mapping[str, str] | None = None,
    ) -> "LabelSet":
        """Return this set, followed by further unseen labels."""
        new = sorted(set(others) - self.ids.keys())
        return LabelSet(
            self.names + new,
            self.texts + [texts[name] for name in new],
            self.frequencies + [0] * len(new),
            self.documents,
            self.synonyms + _listed(new, synonyms),
            self.uris + [(uris or {}).get(name, "") for name in new],
        )

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
        }


def _listed(names: list[str], synonyms: Mapping[str, Sequence[str]] | None) -> list[list[str]]:
    return [list((synonyms or {}).get(name, ())) for name in names]
