"""BioASQ Task A: MEDLINE abstracts with MeSH headings, in the original files."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gile_lightning.builtin import VERSION, write_bioasq
from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.formats.descriptions import Described
from gile_lightning.data.formats.line_count import Total
from gile_lightning.data.formats.mesh import find_descriptors, read_headings, with_parents
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.readers.columns import Columns
from gile_lightning.data.readers.corpus import Corpus
from gile_lightning.data.shards.cache import write_once

_COLUMNS = Columns(
    id="pmid", text=("title", "abstractText"), labels="meshMajor", year="year", split=None
)


class BioASQ(Corpus):
    """The corpus of the paper's Table 2 (section 4.1, protocol of Nam et al., 2016).

    The folder holds ``allMeSH*.json[.gz]`` and the MeSH descriptors as NLM XML
    (``desc*.xml[.gz]``) or ASCII (``d*.bin[.gz]``). Documents before ``split_year`` (2005) are
    for training, the others for testing.

    Args:
        path: the folder; without one the built-in corpus of invented abstracts is written.
        descriptors: the descriptor file, if the folder has none or several.
        builtin_documents: size of the built-in corpus.
        columns: which column is what; by default those of the original files.
        kwargs: see `Corpus`.
    """

    def __init__(
        self,
        path: str | None = None,
        descriptors: Path | None = None,
        *,
        builtin_documents: int = 12_000,
        columns: Columns = _COLUMNS,
        **kwargs: Any,
    ) -> None:
        super().__init__(path, labels=None, columns=columns, **kwargs)
        positive(builtin_documents=builtin_documents)
        self.by_name = False  # headings are described by the descriptors
        self.descriptors = descriptors
        self.builtin_documents = builtin_documents

    @property
    def builtin(self) -> bool:
        """Whether this is the built-in corpus."""
        return self.path is None

    @property
    def directory(self) -> Path:
        """The folder with the raw files."""
        if self.path is not None:
            return Path(self.path).expanduser()
        return self.cache_dir / f"builtin-{VERSION}-{self.builtin_documents}"

    def prepare_data(self) -> None:
        """Write the built-in corpus if no path is given, then encode."""
        if self.builtin:
            documents = self.builtin_documents
            write_once(self.directory, partial(write_bioasq, documents=documents, progress=True))
        super().prepare_data()

    def total(self) -> Total | None:
        """Return the number of documents of the built-in corpus, or about that of others."""
        return Total(self.builtin_documents, exact=True) if self.builtin else super().total()

    def document_files(self) -> Sequence[Path]:
        """Return the ``allMeSH*.json[.gz]`` files."""
        if not self.directory.is_dir():
            raise InputError(f"{self.directory}: no such folder (--data.path)")
        files = [
            file
            for pattern in ("allMeSH*.json", "allMeSH*.json.gz")
            for file in sorted(self.directory.glob(pattern))
        ]
        if not files:
            raise InputError(
                f"{self.directory}: no allMeSH*.json or allMeSH*.json.gz there (--data.path)"
            )
        return files

    def label_files(self) -> Sequence[Path]:
        """Return the file of MeSH descriptors."""
        if self.descriptors is not None:
            return [Path(self.descriptors).expanduser()]
        # a trained model brings its own labels
        return find_descriptors(self.directory, required=self.trained_task is None)

    def descriptions(self, skipped: Skipped) -> Iterator[Described]:
        """Stream the headings: scope notes, entry terms and parents."""
        for path in self.label_files():
            for label in with_parents(read_headings(path)):
                # the identifiers of invented headings are those of others at NLM
                yield label._replace(uri="") if self.builtin else label

    def files(self) -> dict[str, Any]:
        """Return the files of documents and labels with their sizes and times."""
        if self.builtin and self.descriptors is None:
            # the same everywhere, whatever the times of its files
            return {"builtin": VERSION, "documents": self.builtin_documents}
        return super().files()
