"""BioASQ Task A: MEDLINE abstracts with MeSH headings, in the original files."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from gile_lightning import builtin as synthetic
from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.formats.descriptions import Described
from gile_lightning.data.formats.mesh import find_descriptors, read_headings, with_parents
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.readers.corpus import Columns, Corpus

_COLUMNS = Columns(
    id="pmid", text=("title", "abstractText"), labels="meshMajor", year="year", split=None
)


class BioASQ(Corpus):
    """The corpus of the paper's Table 2 (section 4.1, protocol of Nam et al., 2016).

    The folder holds ``allMeSH*.json[.gz]`` and the MeSH descriptors as NLM XML
    (``desc*.xml[.gz]``) or ASCII (``d*.bin[.gz]``). Documents before ``split_year`` (2005) are
    for training, the others for testing.

    Args:
        path: the folder; without one a corpus of invented abstracts is made, to try things out.
        descriptors: the descriptor file, if the folder has none or several.
        builtin_documents: size of the invented corpus.
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
        """Whether this is the invented corpus."""
        return self.path is None

    @property
    def directory(self) -> Path:
        """The folder with the raw files."""
        if self.path is not None:
            return Path(self.path).expanduser()
        return self.cache_dir / f"builtin-{synthetic.VERSION}-{self.builtin_documents}"

    def prepare_data(self) -> None:
        """Write the invented corpus if it is wanted, then encode."""
        if self.builtin and not self.directory.is_dir():
            self.cache_dir.mkdir(parents=True, exist_ok=True)
            with FileLock(self.directory.with_suffix(".lock")):
                if not self.directory.is_dir():
                    partial = self.directory.with_suffix(".partial")
                    shutil.rmtree(partial, ignore_errors=True)
                    synthetic.write_bioasq(partial, self.builtin_documents, progress=True)
                    partial.replace(self.directory)
        super().prepare_data()

    def total(self) -> int | None:
        """Return the number of invented documents."""
        return self.builtin_documents if self.builtin else None

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
            return [Path(self.descriptors)]
        # a trained model brings its own labels
        return find_descriptors(self.directory, required=self.known is None)

    def descriptions(self, skipped: Skipped) -> Iterator[Described]:
        """Stream the headings: scope notes, entry terms and parents."""
        for path in self.label_files():
            yield from with_parents(read_headings(path))

    def _identity(self) -> dict[str, Any]:
        if self.builtin and self.descriptors is None:
            # the same everywhere, whatever the times of its files
            return {"builtin": synthetic.VERSION, "documents": self.builtin_documents}
        return super()._identity()
