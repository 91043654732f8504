"""DW articles as JSON lines, or as a Hugging Face dataset."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.hub_datasets import is_saved_dataset
from gile_lightning.data.formats.lines import Record
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.readers.corpus import Corpus

LabelKind = Literal["general", "specific"]

_FILES = ("train", "dev", "test")
_SPLITS = {"dev": "validation", "valid": "validation"}


class Articles(Corpus):
    """One language of articles that are not in the authors' format.

    Args:
        path: a folder with ``LANGUAGE/{train,dev,test}.jsonl[.gz]``, or as for `Corpus`.
        label_set: the column with the labels, in documents that have it.
        kwargs: see `Corpus`.
    """

    def __init__(self, path: str, label_set: LabelKind = "general", **kwargs: Any) -> None:
        super().__init__(path, **kwargs)
        self.label_set = label_set

    def folder(self) -> Path:
        """Return the language's folder, which need not exist."""
        return Path(str(self.path)).expanduser() / self.language

    def document_files(self) -> Sequence[Path]:
        """Return the files of the language's folder, if there is one."""
        folder = self.folder()
        if not folder.is_dir():
            parent = folder.parent
            if parent.is_dir() and not is_saved_dataset(parent):
                raise InputError(f"{folder}: no such folder, and {parent} is no saved dataset")
            return super().document_files()
        files = [
            next((file for file in candidates if file.is_file()), candidates[0])
            for candidates in (
                [folder / f"{split}.jsonl{end}" for end in ("", ".gz")] for split in _FILES
            )
        ]
        missing = [str(file) for file in files if not file.is_file()]
        if self.trained_task is None and missing:
            raise InputError(f"{', '.join(missing)}: no such file (or .gz of it)")
        return [file for file in files if file.is_file()]

    def records(self, skipped: Skipped) -> Iterator[Record]:
        """Stream the documents; a file's name says the split, a folder's the language."""
        columns = self.columns
        in_folder = self.folder().is_dir()
        for record in super().records(skipped):
            fields = record.fields
            if columns.language and in_folder:
                fields.setdefault(columns.language, self.language)
            if columns.split:
                file = Path(record.where.rpartition(":")[0]).name.partition(".")[0]
                split = fields.get(columns.split) or (file if file in _FILES else "")
                fields[columns.split] = _SPLITS.get(str(split), split)
            if self.label_set in fields:
                fields[columns.labels] = fields[self.label_set]
            yield record

    def sources(self) -> dict[str, Any]:
        """Return the files with their sizes and times, and the options that change the result."""
        return {**super().sources(), "label_set": self.label_set}
