"""A user's own corpus: files of documents or any Hugging Face dataset, and a file of labels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, Literal

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.data.document import Document
from gile_lightning.data.document_data_module import DocumentDataModule
from gile_lightning.data.formats.annif import TEXT, is_uri, subject_file
from gile_lightning.data.formats.descriptions import Described, Kind, TextRecipe, composed
from gile_lightning.data.formats.hub_datasets import read_dataset
from gile_lightning.data.formats.label_files import read_labels
from gile_lightning.data.formats.line_count import Total, estimate_lines
from gile_lightning.data.formats.lines import Record, plain_name
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.language_name import code_of
from gile_lightning.data.readers.column_check import ColumnCheck
from gile_lightning.data.readers.columns import Columns
from gile_lightning.data.readers.document_files import find_document_files, read_document_files
from gile_lightning.data.readers.record_parser import RecordParser, not_names
from gile_lightning.data.shards.fingerprint import stamp

_COLUMNS = Columns()


class Corpus(DocumentDataModule):
    """Documents from files or a Hugging Face dataset; labels from a file, or by name.

    The column ``columns.split`` decides the split if it is named. Else documents with
    ``columns.year`` below ``split_year`` train, and the others test. Else test documents are
    drawn; none with ``test_size: 0``. Validation documents are drawn from the training documents.

    Args:
        path: a file of documents, such as .jsonl[.gz] (`read_document_files` has all formats); a
            glob of them; a folder of .txt files with a .key or .tsv file of labels beside each; a
            folder written by `Dataset.save_to_disk`; or the name of a dataset on the Hugging Face
            hub.
        labels: a file of labels, as `read_labels` takes it: JSON lines, a CSV or TSV table, or
            a vocabulary (SKOS, MeSH, a bundle of ATT&CK). Where its labels have URIs, documents may
            name them by these. Without the file the names of the documents' labels are the label
            texts.
        columns: which column is what. With a language column, only the documents of this corpus'
            ``language`` (or ``sentences``, its code) are read.
        split_year: first year of the test documents, if there is a year column; null ignores the
            years.
        label_text: what describes a label: its description alone (the paper's choice), its name
            followed by the description, or its name alone.
        label_synonyms: the label's synonyms (MeSH: entry terms) follow in that text, as far as
            ``max_label_words`` reaches.
        label_parents: the names and descriptions of the labels above follow after that, this many
            levels up, the nearest first; 0 for none.
        undescribed_labels: a label without a description is left out (paper), or described by its
            name.
        label_language: the language of the labels (en) where the file has several.
        max_broken_lines: lines that are not JSON objects are skipped and counted up to this many.
        encoding: of the text files.
        kwargs: see `DocumentDataModule`.
    """

    def __init__(
        self,
        path: str | None,
        labels: Path | None = None,
        *,
        columns: Columns = _COLUMNS,
        split_year: int | None = 2005,
        label_text: Kind = "description",
        label_synonyms: bool = False,
        label_parents: int = 0,
        undescribed_labels: Literal["skip", "name"] = "skip",
        label_language: str | None = None,
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
        self.label_language = label_language
        self.max_broken_lines = max_broken_lines
        self.encoding = encoding
        self.by_name = labels is None
        self._first_names: dict[str, str] = {}  # of labels that are the same words
        self._synonyms: dict[str, tuple[str, ...]] = {}
        self._parents: dict[str, tuple[str, ...]] = {}
        self._undescribed: set[str] = set()
        self._names: dict[str, str] = {}  # of labels here, by their names in the files
        self._uris: dict[str, str] = {}
        self._by_uri: dict[str, str] = {}  # names

    def sources(self) -> dict[str, Any]:
        """Return the files with their sizes and times, and the options that change the result."""
        return {
            **self.files(),
            "encoding": self.encoding,
            "max_broken_lines": self.max_broken_lines,
            "columns": asdict(self.columns),
            "language": self.columns.language and self.language,
            "split_year": self.split_year,
            "label_text": self.label_text,
            "label_synonyms": self.label_synonyms,
            "label_parents": self.label_parents,
            "undescribed_labels": self.undescribed_labels,
            "label_language": self.label_language,
        }

    def documents(self, skipped: Skipped) -> Iterator[Document]:
        """Stream the documents; those that lack a column are counted by the column's name."""
        check, parser = ColumnCheck(self.columns), RecordParser(self.columns, self.split_year)
        splits: set[str] = set()
        own_name = cache(self._own_name)  # a corpus names the same labels again and again
        for record in self._own_records(skipped):
            document = parser.parse(record)
            if isinstance(document, Document):
                splits.add(document.split)
                yield document._replace(labels=[*map(own_name, document.labels)])
                check.add(record, missing=None)
            else:
                skipped.add(f"documents without {document}", record.where)
                check.add(record, missing=document)
        check.finish(skipped)
        if parser.by_year:
            self._check_years(splits, parser.years)

    def _own_name(self, label: str) -> str:
        """Return the name of a label that a document gives by name or URI.

        Of a label that was renamed since a trained model learned it, that is its name there. Of
        labels that are the same words, it is the first one's.
        """
        name = self._names.get(label) or self._by_uri.get(label, label)
        return self._first_names.get(name, name)

    def _check_years(self, splits: set[str], years: set[int]) -> None:
        known = f"; the documents are of {min(years)} to {max(years)}" if years else ""
        for split, side in (("train", "before"), ("test", "from")):
            if split not in splits and (self.trained_task is None or split == "test"):
                none = "" if split == "train" else " (null, and --data.test_size 0, for no test)"
                raise InputError(
                    f"{self.path}: no document {side} {self.split_year} for the {split} split"
                    f"{known}; set --data.split_year{none}"
                )

    def label_texts(self, skipped: Skipped) -> Mapping[str, str]:
        """Read the labels and put together the text that describes each."""
        found: dict[str, Described] = {}
        named: dict[str, Described] = {}  # by URI
        texts: dict[str, str] = {}
        if self.trained_task is not None:
            trained = self.trained_task.labels
            texts = dict(zip(trained.names, trained.texts, strict=True))
            own = zip(trained.names, trained.uris, strict=True)
            self._uris = {name: uri for name, uri in own if uri}
        self._by_uri = {uri: name for name, uri in self._uris.items()}
        self._names, self._undescribed = {}, set()
        by_name, recipe = self.by_name, self.recipe()
        labels = self._named_by_documents() if by_name else self.descriptions(skipped)
        for label in labels:
            if label.name in found:
                raise InputError(
                    f"{label.where}: the label {label.name!r} is there already at "
                    f"{found[label.name].where}; names must be unique"
                )
            found[label.name] = label
            if label.uri:
                first = named.setdefault(label.uri, label)
                if first is not label:
                    raise InputError(
                        f"{label.where}: the label {label.name!r} has the URI of {first.name!r} at "
                        f"{first.where}; URIs must be unique"
                    )
            self._names[label.name] = name = self._name_here(label)
            if label.uri:
                self._uris.setdefault(name, label.uri)
                self._by_uri.setdefault(label.uri, name)
        for label in found.values():
            name = self._names[label.name]
            if not label.description:
                self._undescribed.add(name)
            if not by_name and not label.description and self.undescribed_labels == "skip":
                skipped.add("labels without a description", label.where)
                continue
            self._synonyms[name] = label.synonyms
            self._parents[name] = tuple(self._names.get(parent, parent) for parent in label.parents)
            if name not in texts:
                texts[name] = name if by_name else recipe.label_text(label, found)
        if not texts and by_name:
            raise InputError(
                f"{self.path}: no document has a label in {self.columns.labels!r}; set "
                "--data.columns.labels"
            )
        if not texts:
            files = ", ".join(map(str, self.label_files())) or "no file"
            raise InputError(
                f"{files}: no label has a description (its column is 'description'); set "
                "--data.undescribed_labels name to describe labels by their names"
            )
        return self._merged(texts) if by_name else texts

    def _name_here(self, label: Described) -> str:
        """Return the name of a label of the files, which is its name there as a rule.

        A label of a trained model that was renamed since then, which its URI tells, keeps its name.
        Another label that has got that name is given its URI too. URIs of another namespace tell
        nothing, as the same labels may be published elsewhere.
        """
        known = self._by_uri.get(label.uri or label.name)
        if known is not None:
            return known
        own = self._uris.get(label.name, "")
        other = label.uri and own and _namespace(own) == _namespace(label.uri)
        return f"{label.name} ({label.uri})" if other else label.name

    def recipe(self) -> TextRecipe:
        """Return how the texts of documents and labels are put together."""
        return TextRecipe(
            self.label_text,
            self.label_synonyms,
            self.label_parents,
            self.by_name or "name" in (self.undescribed_labels, self.label_text),
            (*self.columns.lead, *self.columns.text),
            self.columns.language,
            self.label_language,
            self.columns.id,
        )

    def synonyms(self) -> Mapping[str, Sequence[str]]:
        """Return the other names of the labels that `label_texts` has read."""
        return self._synonyms

    def uris(self) -> Mapping[str, str]:
        """Return the URIs of the labels that `label_texts` has read."""
        return self._uris

    def parents(self) -> Mapping[str, Sequence[str]]:
        """Return the labels right above the labels that `label_texts` has read."""
        return self._parents

    def undescribed(self) -> Set[str]:
        """Return the names of the labels that `label_texts` has read without a description."""
        return self._undescribed

    def _merged(self, texts: dict[str, str]) -> dict[str, str]:
        """Merge labels that are the same words of the word vectors' vocabulary (paper, DW)."""
        tokenizer = self.fixed_tokenizer
        if tokenizer is None or not tokenizer.known_words_only:
            return texts
        first: dict[tuple[str, ...], str] = {}
        for name, text in texts.items():
            words = tuple(tokenizer.words(text))
            self._first_names[name] = first.setdefault(words, name) if words else name
        return {name: text for name, text in texts.items() if self._first_names[name] == name}

    def _own_records(self, skipped: Skipped) -> Iterator[Record]:
        """Stream the raw documents of this corpus' language."""
        column = self.columns.language
        names = (self.language.lower(), self.settings.sentences)
        code = code_of(self.language)
        found = False
        for record in self.records(skipped):
            if column is not None:
                if column not in record.fields:
                    raise InputError(
                        f"{record.where}: no {column!r} in this document; the columns are "
                        f"{', '.join(record.fields)}{nearest(column, record.fields)} (set "
                        "--data.columns.language)"
                    )
                value = str(record.fields[column]).lower()
                if value not in names and (code is None or code_of(value) != code):
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
        for record in self._own_records(Skipped()):
            labels = record.fields.get(self.columns.labels)
            labels = [labels] if isinstance(labels, str) else labels
            for name in labels if isinstance(labels, list) else [labels] if labels else []:
                if name != name:  # NaN: an empty cell
                    continue
                if not isinstance(name, str):
                    raise InputError(not_names(record.where, self.columns.labels, labels))
                if not name.strip():
                    continue
                if (name := composed(name.strip())) not in found:
                    if is_uri(name) and self.trained_task is None:
                        raise InputError(
                            f"{record.where}: labels are named by URI ({name}), which tells a "
                            "model nothing; set --data.labels to the vocabulary that has them"
                        )
                    found.add(name)
                    yield Described(record.where, name, "")

    def records(self, skipped: Skipped) -> Iterable[Record]:
        """Stream the raw documents of all languages."""
        files = self.document_files()
        if files:
            broken = self.max_broken_lines
            return read_document_files(files, self.columns, skipped, broken, self.encoding)
        return read_dataset(str(Path(str(self.path)).expanduser()), self.columns.split)

    def descriptions(self, skipped: Skipped) -> Iterator[Described]:
        """Stream the labels as the label files describe them."""
        for path in self.label_files():
            yield from read_labels(path, skipped, self.encoding, self.label_language)

    def total(self) -> Total | None:
        """Return about how many documents there are, from the lines of their files.

        None where a document is no line: CSV, folders of texts, Hugging Face datasets, and a
        subclass that reads records in its own way.
        """
        if type(self).records is not Corpus.records:
            return None
        files = self.document_files()
        if any(plain_name(file).endswith((TEXT, ".csv")) for file in files):
            return None
        lines = estimate_lines(files) if files else None
        return None if lines is None else Total(lines)

    def document_files(self) -> Sequence[Path]:
        """Return the files that hold the documents; none for a Hugging Face dataset."""
        if self.path is None:
            raise InputError("no documents: set --data.path")
        return find_document_files(str(Path(self.path).expanduser()))

    def label_files(self) -> Sequence[Path]:
        """Return the files that hold the labels; none if the documents name them."""
        return [] if self.labels is None else [Path(self.labels).expanduser()]

    def files(self) -> dict[str, Any]:
        """Return the files of documents and labels with their sizes and times."""
        files = self.document_files()
        if not files:  # a saved dataset, or one on the hub, which has only its name
            folder = Path(str(self.path)).expanduser()
            files = sorted(file for file in folder.rglob("*") if file.is_file())
        files = [*files, *filter(None, map(subject_file, files))]
        return {
            "documents": [stamp(file) for file in files] or str(self.path),
            "labels": [stamp(path) for path in self.label_files()],
        }


def _namespace(uri: str) -> str:
    """Return a URI up to its last part.

    >>> [*map(_namespace, ("http://a.b/c#d", "urn:isbn:1", "D1"))]
    ['http://a.b/c#', 'urn:isbn:', '']
    """
    return uri[: max(map(uri.rfind, "/#:")) + 1]
