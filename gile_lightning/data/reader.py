"""The contract of a reader: what a corpus of your own has to say."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from gile_lightning.data.document import Document
from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.formats.line_count import Total
from gile_lightning.data.formats.skipped import Skipped


class Reader(ABC):
    """Reads the documents and labels of a corpus; the three abstract methods are enough.

    `DocumentDataModule` is a reader too, and does all else. So a corpus of your own derives from
    that class.
    """

    @abstractmethod
    def sources(self) -> dict[str, Any]:
        """Return what documents and labels depend on, such as files, as JSON values."""

    @abstractmethod
    def documents(self, skipped: Skipped) -> Iterable[Document]:
        """Stream the raw documents; count in ``skipped`` those that are left out."""

    @abstractmethod
    def label_texts(self, skipped: Skipped) -> Mapping[str, str]:
        """Return the text of every label by its name; count in ``skipped`` those left out."""

    def synonyms(self) -> Mapping[str, Sequence[str]]:
        """Return other names of labels, by their names; called after `label_texts`."""
        return {}

    def uris(self) -> Mapping[str, str]:
        """Return the URIs of labels that have one, by their names; called after `label_texts`."""
        return {}

    def parents(self) -> Mapping[str, Sequence[str]]:
        """Return the labels right above labels, by their names; called after `label_texts`."""
        return {}

    def undescribed(self) -> Set[str]:
        """Return the names of labels without a description; called after `label_texts`."""
        return frozenset()

    def recipe(self) -> TextRecipe:
        """Return how the texts of documents and labels are put together."""
        return TextRecipe()

    def total(self) -> Total | None:
        """Return about how many raw documents there are, if that is known before reading them."""
        return None
