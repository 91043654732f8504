"""Labels as files describe them, and their texts for a model."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.data.formats.annif import is_uri

Kind = Literal["description", "name_description", "name"]


class Described(NamedTuple):
    """A label as a file describes it.

    Attributes:
        where: the place in the file, for messages.
        name: the name that documents give it.
        description: what it means; empty where there is no description.
        synonyms: its other names.
        parents: the names of the labels right above it in a hierarchy.
        uri: its identifier, which outlives its name; empty where there is none.
    """

    where: str
    name: str
    description: str
    synonyms: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    uri: str = ""


def composed(name: str) -> str:
    """Return the name of a label in Unicode's normal form C, or a URI without angle brackets.

    So names are the same that look the same, whatever program has written them.
    """
    if is_uri(name):
        return name.removeprefix("<").removesuffix(">")
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def other_names(name: str, terms: Iterable[str]) -> list[str]:
    """Return each of the terms once, in order, without ``name`` and empty ones."""
    return [term for term in dict.fromkeys(map(str.strip, terms)) if term and term != name]


def described(where: str, name: str, fields: Mapping[str, Any]) -> Described:
    """Make a label from a record: ``description``, perhaps ``synonyms``, ``parents`` and ``uri``.

    Raises:
        InputError: synonyms or parents are not lists of strings, the description is no text, or
            the URI no string.
    """
    name = composed(name.strip())
    lists: dict[str, list[str]] = {}
    for key in ("synonyms", "parents"):
        value = fields.get(key)
        if value is None:
            value = []
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InputError(f"{where}: {key!r} is not a list of strings: {value!r:.80}")
        lists[key] = [composed(item) for item in value]
    uri = fields.get("uri") or ""
    if not isinstance(uri, str):
        raise InputError(f"{where}: 'uri' is not a string: {uri!r:.80}")
    description = fields.get("description")
    if description is None or description != description:  # NaN, of a table without a text
        description = ""
    if not isinstance(description, str | int | float):
        raise InputError(f"{where}: 'description' is no text: {description!r:.80}")
    return Described(
        where,
        name,
        str(description).strip(),
        tuple(other_names(name, lists["synonyms"])),
        tuple(other_names(name, lists["parents"])),
        composed(uri.strip()),
    )


def ancestors(label: Described, labels: Mapping[str, Described], levels: int) -> list[Described]:
    """Return the labels above ``label``, some levels up: the nearest first, each once.

    The label itself is left out, so a circle of parents ends where it began.

    Raises:
        InputError: a parent is none of ``labels``.
    """
    found = {label.name: label}
    level = [label]
    for _ in range(levels):
        above: dict[str, Described] = {}
        for child in level:
            for name in child.parents:
                if name not in labels:
                    raise InputError(
                        f"{child.where}: the parent {name!r} of the label {child.name!r} is none "
                        f"of the labels{nearest(name, labels)}"
                    )
                if name not in found:
                    above[name] = labels[name]
        if not above:
            break
        found |= above
        level = list(above.values())
    return list(found.values())[1:]


def label_text(
    label: Described,
    labels: Mapping[str, Described],
    kind: Kind = "description",
    synonyms: bool = False,
    parents: int = 0,
) -> str:
    """Put together the text that describes a label to a model.

    Args:
        label: the label.
        labels: all labels by name, its parents among them.
        kind: the text begins with the description, the name and the description, or the name.
            Without a description it begins with the name.
        synonyms: whether the synonyms follow.
        parents: levels of labels above it whose names and descriptions follow.
    """
    begin = {
        "description": label.description or label.name,
        "name_description": f"{label.name} {label.description}",
        "name": label.name,
    }[kind]
    above = ancestors(label, labels, parents)
    more = [*(label.synonyms if synonyms else ()), *_texts(above)]
    return " ".join([begin, *more])


@dataclass(frozen=True)
class TextRecipe:
    """How the texts of a corpus are put together; new texts are put together alike.

    Attributes:
        kind: what a label's text begins with; see `label_text`.
        synonyms: whether the label's synonyms follow.
        parents: levels of labels above it that follow.
        by_name: whether a label without a description is described by its name.
        columns: the columns of a record that make a document's text, in order.
        language: the column that names a record's language; None where the corpus has none.
        label_language: the language of the labels that is read of a file with several.
        id: the column of a record's id, if it is known.
    """

    kind: Kind = "description"
    synonyms: bool = False
    parents: int = 0
    by_name: bool = False
    columns: tuple[str, ...] = ()
    language: str | None = None
    label_language: str | None = None
    id: str | None = None

    def label_text(self, label: Described, labels: Mapping[str, Described]) -> str:
        """Put together the text of a label; its parents are among ``labels``."""
        return label_text(label, labels, self.kind, self.synonyms, self.parents)

    def state(self) -> dict[str, Any]:
        """Return plain values, for JSON and checkpoints."""
        return asdict(self) | {"columns": list(self.columns)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "TextRecipe":
        """Rebuild what `state` returned."""
        return cls(**{**state, "columns": tuple(state["columns"])})


def _texts(labels: Iterable[Described]) -> Iterator[str]:
    return (f"{label.name} {label.description}".strip() for label in labels)
