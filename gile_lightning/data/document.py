"""A document as a reader yields it."""

from collections.abc import Sequence
from typing import NamedTuple

SPLITS = ("train", "validation", "test")


class Document(NamedTuple):
    """A raw document.

    Attributes:
        where: file and line, for messages.
        id: unique in the corpus; later documents with the same id are left out.
        pieces: the text, in the pieces that the corpus tells apart (title, abstract). A piece that
            is a list is a sentence, already split into words.
        labels: label names.
        split: one of `SPLITS`; "" leaves the document to the draw.
    """

    where: str
    id: str
    pieces: Sequence[str | list[str]]
    labels: list[str]
    split: str
