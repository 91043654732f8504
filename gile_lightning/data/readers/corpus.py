"""A user's own corpus: JSON lines or any Hugging Face dataset, and a file of labels."""

import glob
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.data.document_data_module import DocumentDataModule
from gile_lightning.data.formats.descriptions import Described, Kind, TextRecipe, described
from gile_lightning.data.formats.lines import Record, read_records
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.shards.cache import stamp
from gile_lightning.data.shards.writing import SPLITS, Document

_YEAR = re.compile(r"\s*(\d{4})")
_CHECK_AFTER = 1_000  # records read before a column that most of them lack is an error


@dataclass(frozen=True)
class Columns:
    """The names of a corpus' columns.

    Attributes:
        id: unique id of a document.
        text: one column, or several that belong together (title, abstract); a document has a text
            in one of them at least.
        lead: one column, or several, that come before the text where a document has them (title,
            teaser).
        labels: list of label names.
        language: name or ISO 639-1 code of the document's language, or null.
        year: year of publication, or null.
        split: train, validation or test, or null.
    """

    id: str = "id"
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
            raise InputError("data.columns.text is empty: name a column at least")


def names_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of an option that takes one or several."""
    return (given,) if isinstance(given, str) else tuple(given)


class Corpus(DocumentDataModule):
    """Documents from JSON lines or a Hugging Face dataset; labels from JSON lines, or by name.

    The split is the ``columns.split`` column if one is named; else documents with
    ``columns.year`` below ``split_year`` are for training and the others for testing; else test
    documents are drawn, none with ``test_size: 0``. Validation documents are drawn from those for
    training.

    Args:
        path: a .jsonl[.gz] file, a glob of them, a folder written by `Dataset.save_to_disk`, or
            the name of a dataset on the Hugging Face hub.
        labels: JSON lines with ``name`` and ``description``, and perhaps ``synonyms`` and
            ``parents`` (lists of names); without them the labels of the documents describe
            themselves by their names.
        columns: which column is what. With a language column, the documents whose language is
            this corpus' ``language`` (or ``sentences``, its code) are taken.
        split_year: first year of the test documents, where there is a year column; null leaves
            years aside.
        label_text: what describes a label: its description alone (the paper's choice), its name
            followed by the description, or its name alone.
        label_synonyms: let the label's synonyms (MeSH: entry terms) follow in that text, as far as
            ``max_label_words`` reaches.
        label_parents: let the names and descriptions of the labels above follow after that, so
            many levels up, the nearest first; 0 for none.
        undescribed_labels: a label without a description is left out (paper), or described by its
            name.
        max_broken_lines: lines that are not JSON objects are skipped and counted up to this many.
        encoding: of the text files.
        kwargs: see `DocumentDataModule`.
    """

    def __init__(
        self,
        path: str | None,
        labels: Path | None = None,
        *,
        columns: Columns = Columns(),
        split_year: int | None = 2005,
        label_text: Kind = "description",
        label_synonyms: bool = False,
        label_parents: int = 0,
        undescribed_labels: Literal["skip", "name"] = "skip",
        max_broken_lines: int = 100,
        encoding: str = "utf-8",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if label_parents < 0:
            raise InputError(f"label_parents is {label_parents}; 0 levels are the fewest")
        self.path = path
        self.labels = labels
        self.columns = columns
        self.split_year = split_year
        self.label_text = label_text
        self.label_synonyms = label_synonyms
        self.label_parents = label_parents
        self.undescribed_labels = undescribed_labels
        self.max_broken_lines = max_broken_lines
        self.encoding = encoding
        self.by_name = labels is None
        self._aliases: dict[str, str] = {}
        self._synonyms: dict[str, tuple[str, ...]] = {}

    def sources(self) -> dict[str, Any]:
        """Return the files with their sizes and times, and the options that change the result."""
        return {
            **self._identity(),
            "encoding": self.encoding,
            "columns": asdict(self.columns),
            "language": self.columns.language and self.language,
            "split_year": self.split_year,
            "label_text": self.label_text,
            "label_synonyms": self.label_synonyms,
            "label_parents": self.label_parents,
            "undescribed_labels": self.undescribed_labels,
        }

    def documents(self, skipped: Skipped) -> Iterator[Document]:
        """Stream the documents; those that lack a column are counted by the column's name."""
        missing: dict[str, tuple[int, Record]] = {}
        read = 0
        head: list[Record] = []
        splits: set[str] = set()
        for record in self._records(skipped):
            read += 1
            document = self._document(record)
            if isinstance(document, Document):
                splits.add(document.split)
                yield document
            else:
                column = document
                skipped.add(f"documents without {column}", record.where)
                count, first = missing.get(column, (0, record))
                missing[column] = count + 1, first
            if read <= _CHECK_AFTER:
                head.append(record)
            if read == _CHECK_AFTER:
                self._check(missing, head, read)
        self._check(missing, head, read)
        if self.columns.year and not self.columns.split and self.split_year is not None:
            years = [_year(record.fields.get(self.columns.year)) for record in head]
            self._check_years(splits, [year for year in years if year])

    def _document(self, record: Record) -> Document | str:
        """Make a document of a record, or name the column that it lacks."""
        fields, columns = record.fields, self.columns
        identity = fields.get(columns.id)
        if identity is None or identity == "":
            return columns.id
        lead, texts = _filled(fields, columns.lead), _filled(fields, columns.text)
        if not texts:
            return " and ".join(columns.text)
        labels = fields.get(columns.labels)
        if not labels:
            return columns.labels
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise InputError(
                f"{record.where}: {columns.labels!r} is not a list of label names: {labels!r:.80}"
            )
        labels = [self._aliases.get(label, label) for label in labels]
        split = ""
        if columns.split:
            split = str(fields.get(columns.split) or "")
            if split not in SPLITS:
                raise InputError(
                    f"{record.where}: {columns.split!r} is {split!r}, expected one of "
                    f"{', '.join(SPLITS)}; set --data.columns.split null to draw one"
                )
        elif columns.year and self.split_year is not None:
            year = _year(fields.get(columns.year))
            if year is None:
                return columns.year
            split = "train" if year < self.split_year else "test"
        return Document(record.where, str(identity), lead + texts, labels, split)

    def _check(
        self, missing: Mapping[str, tuple[int, Record]], head: Sequence[Record], read: int
    ) -> None:
        """Stop early where a name is wrong: most documents lack a column, or all one of the texts.

        Args:
            missing: how many documents lack a column, and the first of them.
            head: the first documents.
            read: how many were read.
        """
        known = {name for record in head for name in record.fields}
        absent = {name: (read, head[0]) for name in self.columns.text if name not in known}
        for column, (count, first) in (absent | {**missing}).items():
            if count > read / 2:
                raise InputError(
                    f"{first.where}: no {column!r} in this document and in {count:,} of the first "
                    f"{read:,}; the columns are {', '.join(first.fields)}"
                    f"{nearest(column, first.fields.keys() - {column, *self.columns.text})} (set "
                    "--data.columns)"
                )

    def _check_years(self, splits: set[str], years: list[int]) -> None:
        for split, side in (("train", "before"), ("test", "from")):
            if split not in splits and (self.known is None or split == "test"):
                span = f"the first documents are of {min(years)} to {max(years)}" if years else ""
                none = "" if split == "train" else " (null, and --data.test_size 0, for no test)"
                raise InputError(
                    f"{self.path}: no document {side} {self.split_year} for the {split} split; "
                    f"{span}; set --data.split_year{none}"
                )

    def label_texts(self, skipped: Skipped) -> Mapping[str, str]:
        """Read the labels and put together the text that describes each."""
        found: dict[str, Described] = {}
        texts: dict[str, str] = {}
        if self.known is not None:
            texts = dict(zip(self.known.labels.names, self.known.labels.texts, strict=True))
        by_name, recipe = self.by_name, self.recipe()
        labels = self._named_by_documents() if by_name else self.descriptions(skipped)
        for label in labels:
            if label.name in found:
                raise InputError(
                    f"{label.where}: the label {label.name!r} is there already at "
                    f"{found[label.name].where}; names must be unique"
                )
            found[label.name] = label
        for name, label in found.items():
            if not by_name and not label.description and self.undescribed_labels == "skip":
                skipped.add("labels without a description", label.where)
                continue
            self._synonyms[name] = label.synonyms
            if name not in texts:
                texts[name] = name if by_name else recipe.label_text(label, found)
        if not texts and by_name:
            raise InputError(
                f"{self.path}: no document has a label in {self.columns.labels!r}; set "
                "--data.columns.labels"
            )
        if not texts:
            files = ", ".join(map(str, self.label_files())) or "no file"
            raise InputError(f"{files}: no label has a description")
        return self._merged(texts) if by_name else texts

    def recipe(self) -> TextRecipe:
        """Return how the texts of documents and labels are put together."""
        return TextRecipe(
            self.label_text,
            self.label_synonyms,
            self.label_parents,
            self.by_name or "name" in (self.undescribed_labels, self.label_text),
            (*self.columns.lead, *self.columns.text),
            self.columns.language,
        )

    def synonyms(self) -> Mapping[str, Sequence[str]]:
        """Return the other names of the labels that `label_texts` has read."""
        return self._synonyms

    def _merged(self, texts: dict[str, str]) -> dict[str, str]:
        """Make labels one that are the same words of given word vectors (paper, DW)."""
        if self.encoder is None or not self.encoder.known_words_only:
            return texts
        first: dict[tuple[str, ...], str] = {}
        for name, text in texts.items():
            words = tuple(self.encoder.words(text))
            self._aliases[name] = first.setdefault(words, name) if words else name
        return {name: text for name, text in texts.items() if self._aliases[name] == name}

    def _records(self, skipped: Skipped) -> Iterator[Record]:
        """Stream the raw documents of this corpus' language."""
        column = self.columns.language
        names = (self.language.lower(), self.settings.sentences)
        found = False
        for record in self.records(skipped):
            if column is not None:
                if column not in record.fields:
                    raise InputError(
                        f"{record.where}: no {column!r} in this document; the columns are "
                        f"{', '.join(record.fields)}{nearest(column, record.fields)} (set "
                        "--data.columns.language)"
                    )
                if str(record.fields[column]).lower() not in names:
                    skipped.add("documents of other languages", record.where)
                    continue
            found = True
            yield record
        if not found:
            of = f" of {self.language} ({column})" if column else ""
            raise InputError(f"{self.path}: no document{of} in it")

    def _named_by_documents(self) -> Iterator[Described]:
        """Stream the labels that the documents have, without descriptions."""
        found: set[str] = set()
        for record in self._records(Skipped()):
            labels = record.fields.get(self.columns.labels)
            for name in labels if isinstance(labels, list) else []:
                if isinstance(name, str) and name.strip() and name not in found:
                    found.add(name)
                    yield Described(record.where, name, "")

    def records(self, skipped: Skipped) -> Iterable[Record]:
        """Stream the raw documents."""
        files = self.document_files()
        if files:
            return read_records(files, skipped, self.max_broken_lines, self.encoding)
        return self._dataset_records()

    def _dataset_records(self) -> Iterator[Record]:
        import datasets  # which takes a second

        path = str(self.path)
        if Path(path).is_dir():
            try:
                source = datasets.load_from_disk(path)
            except FileNotFoundError as error:
                raise InputError(f"{path}: neither a saved dataset nor a .jsonl file") from error
        else:
            try:
                source = datasets.load_dataset(path, streaming=True)
            except Exception as error:  # of many kinds: network, name, format
                raise InputError(
                    f"{path}: no file or folder here, nor a dataset that can be loaded "
                    f"from the hub ({type(error).__name__}: {error})"
                ) from error
        parts = source if isinstance(source, dict) else {"": source}
        for name, rows in parts.items():
            for number, fields in enumerate(rows, 1):
                if self.columns.split:
                    fields.setdefault(self.columns.split, name)
                yield Record(f"{path}[{name}]:{number}" if name else f"{path}:{number}", fields)

    def descriptions(self, skipped: Skipped) -> Iterator[Described]:
        """Stream the labels as the label files describe them."""
        for path in self.label_files():
            yield from read_labels(path, skipped, self.encoding)

    def document_files(self) -> Sequence[Path]:
        """Return the files that hold the documents; none for a Hugging Face dataset."""
        if self.path is None:
            raise InputError("no documents: set --data.path")
        return find_files(str(Path(self.path).expanduser()))

    def label_files(self) -> Sequence[Path]:
        """Return the files that hold the labels; none where documents name them."""
        return [] if self.labels is None else [Path(self.labels).expanduser()]

    def _identity(self) -> dict[str, Any]:
        files = self.document_files()
        if not files:  # a saved dataset, or one of the hub, which has only its name
            files = sorted(file for file in Path(str(self.path)).rglob("*") if file.is_file())
        return {
            "documents": [stamp(file) for file in files] or str(self.path),
            "labels": [stamp(path) for path in self.label_files()],
        }


def read_labels(
    path: Path | str, skipped: Skipped | None = None, encoding: str = "utf-8"
) -> Iterator[Described]:
    """Stream labels from JSON lines.

    They have ``name`` and ``description``, and perhaps ``synonyms`` and ``parents``: lists of other
    names of the label, and of the names of the labels right above it.

    Raises:
        InputError: a line has no name, or something else than lists of names.
    """
    for where, fields in read_records([path], skipped or Skipped(), 0, encoding):
        name = fields.get("name")
        if not isinstance(name, str) or not name:
            raise InputError(
                f"{where}: a label needs a 'name'; the keys are {', '.join(fields) or 'none'}"
            )
        yield described(where, name, fields)


def find_files(path: str) -> Sequence[Path]:
    """Return the one file, or the files of a glob, at ``path``; none if it is neither."""
    if Path(path).exists() or not any(sign in path for sign in "*?["):
        return [Path(path)] if Path(path).is_file() else []
    files = [Path(file) for file in sorted(glob.glob(path, recursive=True)) if Path(file).is_file()]
    if not files:
        raise InputError(f"{path}: no file matches")
    return files


def _filled(fields: Mapping[str, Any], columns: Iterable[str]) -> list[str | list[str]]:
    """Return the texts of the columns that have one."""
    texts = (fields.get(name) for name in columns)
    return [text for text in texts if isinstance(text, str) and text.strip()]


def _year(value: Any) -> int | None:
    match = _YEAR.match(str(value)) if value is not None else None
    return int(match.group(1)) if match else None
