"""MITRE ATT&CK: sentences on attacks, labelled with techniques."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gile_lightning.builtin import ATTACK_BUNDLE
from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.attack import Techniques
from gile_lightning.data.formats.descriptions import Described
from gile_lightning.data.formats.lines import Record
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.formats.stix import find_bundles, read_objects
from gile_lightning.data.readers.columns import Columns
from gile_lightning.data.readers.corpus import Corpus

_COLUMNS = Columns(id="id", text="text", labels="labels", year="created")


class ATTACK(Corpus):
    """Sentences that say how a group or program attacks, labelled with techniques of ATT&CK.

    A document is the description of a relationship ``uses``, without citations, links and HTML;
    its year is the one in which it was written. Documents before ``split_year`` are for training,
    the others for testing. A label is a technique in force, with its description; see
    `Techniques` for its name. What was revoked is replaced by what revoked it; what is deprecated
    is left out and counted.

    Args:
        path: a bundle of STIX 2, ``.json`` or ``.json.gz``, as MITRE publishes them for Enterprise,
            Mobile and ICS; or a folder of bundles, which are read as one. By default the sentences
            of Enterprise that were written before 2023, which come with the package.
        split_year: first year of the test documents; null ignores the years.
        kwargs: see `Corpus`.

    Raises:
        InputError: a file is no such bundle, or none has techniques or sentences.
    """

    def __init__(
        self, path: str | None = None, *, split_year: int | None = 2021, **kwargs: Any
    ) -> None:
        super().__init__(
            str(ATTACK_BUNDLE) if path is None else path,
            labels=None,
            columns=_COLUMNS,
            split_year=split_year,
            max_broken_lines=0,
            encoding="utf-8",
            **kwargs,
        )
        self.by_name = False  # techniques are described in the bundle

    def document_files(self) -> Sequence[Path]:
        """Return the bundles."""
        return find_bundles(Path(str(self.path)).expanduser())

    def label_files(self) -> Sequence[Path]:
        """Return the bundles, which describe the labels too."""
        return self.document_files()

    def records(self, skipped: Skipped) -> Iterator[Record]:
        """Stream the sentences."""
        sentences = self._techniques().sentences(skipped)
        if not sentences:
            raise InputError(
                f"{self.path}: no relationship 'uses' has a description and points to a "
                "technique in force; give a whole bundle of ATT&CK (--data.path)"
            )
        yield from sentences

    def descriptions(self, skipped: Skipped) -> Iterator[Described]:
        """Stream the techniques."""
        techniques = self._techniques()
        if not techniques.names:
            raise InputError(
                f"{self.path}: no technique (attack-pattern) in force; give a whole bundle of "
                "ATT&CK (--data.path)"
            )
        yield from techniques.labels(skipped)

    def _techniques(self) -> Techniques:
        return Techniques(read_objects(self.document_files()))
