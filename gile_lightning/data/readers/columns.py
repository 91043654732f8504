"""Which column of a corpus is what."""

from collections.abc import Iterable
from dataclasses import dataclass

from gile_lightning.common.errors import InputError


@dataclass(frozen=True)
class Columns:
    """The names of a corpus' columns.

    Attributes:
        id: unique id of a document; null for a hash of its text.
        text: one column, or several that belong together (title, abstract); a document has a text
            in at least one of them.
        lead: one column, or several, that come before the text where a document has them (title,
            teaser).
        labels: list of label names.
        language: name or ISO 639-1 code of the document's language, or null.
        year: year of publication, or null.
        split: train, validation or test, or null.
    """

    id: str | None = "id"
    text: tuple[str, ...] | str = ("text",)
    lead: tuple[str, ...] | str = ()
    labels: str = "labels"
    language: str | None = None
    year: str | None = None
    split: str | None = None

    def __post_init__(self) -> None:
        for name in ("text", "lead"):
            object.__setattr__(self, name, names_of(getattr(self, name)))
        if not self.text:
            raise InputError("data.columns.text is empty: name at least one column")


def names_of(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of an option that takes one name or several."""
    return (names,) if isinstance(names, str) else tuple(names)
