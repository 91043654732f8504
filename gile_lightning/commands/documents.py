"""Documents to label: lines of JSON or plain text."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from gile_lightning.common.console import complain
from gile_lightning.common.errors import InputError, nearest
from gile_lightning.data.formats.annif import read_short_texts
from gile_lightning.data.formats.lines import JSON_LIST, whole_characters
from gile_lightning.data.formats.tables import read_table
from gile_lightning.systems import System
from gile_lightning.systems.predictor import Text, find_language

LONGEST = 2**26  # characters of a line: 64 MB are no document
_MAX_BROKEN = 100
_HEADINGS = ("title", "teaser")
_PIECES = (*_HEADINGS, "abstract", "abstractText")
_TEXT = {"text", *_PIECES}  # the columns that a record may have without the model knowing them


class InputDocument(NamedTuple):
    """A text with its id, and the model's language that it is in."""

    id: str | int
    language: str
    text: Text


def lines_of(source: TextIO, name: str) -> Iterator[str]:
    """Yield the lines of a stream.

    Args:
        source: the stream.
        name: of the input, for messages.

    Raises:
        InputError: a line is too long to be a document, or a gzip file is damaged.
    """
    for number in count(1):
        try:
            line = source.readline(LONGEST)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{name}: a damaged gzip file ({error})") from error
        if len(line) == LONGEST:
            raise InputError(f"{name}:{number}: a line is longer than {LONGEST:,} characters")
        if not line:
            return
        yield line


class DocumentReader:
    """Reads documents from lines of JSON or plain text, and counts the lines that it leaves out.

    Args:
        lines: one document each.
        name: of the input, for messages.
        kind: ``jsonl``, ``text``, ``csv`` (a file with a header), ``tsv`` (a file as Annif has it,
            whose labels are not read), or ``auto`` to look at the name and the first line.
        system: the model, whose columns and languages the records may have.
        language: that of records which do not name theirs, if there is a default.
    """

    def __init__(
        self, lines: Iterable[str], name: str, kind: str, system: System, language: str | None
    ) -> None:
        self.lines, self.name, self.kind = lines, name, kind
        self.system, self.default = system, language
        columns = (task.recipe.language for task in system.tasks.values())
        several = "language" if len(system.tasks) > 1 else None
        self.language_column = next(filter(None, columns), several)
        self.broken = self.empty = self.made = 0
        ending = Path(name.lower().removesuffix(".gz")).suffix
        if kind == "auto" and ending in (".csv", ".tsv"):
            self.kind = ending[1:]

    def __iter__(self) -> Iterator[InputDocument]:
        if self.kind == "csv":
            for number, record in enumerate(read_table(self.name, tabs=False), 1):
                yield from self._documents(number, record.fields, record.where)
            return
        if self.kind == "tsv":
            for where, text, _ in read_short_texts(Path(self.name)):
                if text:
                    number = int(where.rpartition(":")[2])
                    yield InputDocument(number, self._language(where, {}), text)
                else:
                    self.empty += 1
            return
        for number, line in self._numbered():
            text = line.strip().lstrip("\ufeff")
            if not text:
                self.empty += 1
                continue
            if self.kind == "auto":
                if text == "[" or (text.startswith("[") and text[1:].lstrip().startswith("{")):
                    raise InputError(
                        f"{JSON_LIST.format(self.name)} (--format text for plain text)"
                    )
                self.kind = "jsonl" if text.startswith("{") else "text"
            if self.kind == "text":
                yield InputDocument(number, self._language(f"{self.name}:{number}", {}), text)
                continue
            fields = self._fields(f"{self.name}:{number}", text)
            if fields is not None:
                yield from self._documents(number, fields, f"{self.name}:{number}")

    def _numbered(self) -> Iterator[tuple[int, str]]:
        number = 0
        try:
            for number, line in enumerate(self.lines, 1):
                yield number, line
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.name}: not UTF-8 text near line {number + 1:,} ({error.reason})"
            ) from error

    def _fields(self, where: str, line: str) -> dict[str, Any] | None:
        """Return the record of a line; None, with a message, if there is none."""
        try:
            fields = json.loads(line)
            if not isinstance(fields, dict):
                raise ValueError("not a JSON object")
        except (ValueError, RecursionError) as error:
            complain(f"{where}: left out, not a JSON object ({error})")
            self._count_broken(
                f"{where}: more than {_MAX_BROKEN} lines are not JSON objects; is this plain "
                "text? Then use --format text",
                error,
            )
            return None
        return whole_characters(fields, line)

    def _documents(
        self, number: int, fields: Mapping[str, Any], where: str
    ) -> Iterator[InputDocument]:
        """Yield the document of a record; none, with a message, if a later record has no text.

        Raises:
            InputError: the first record has none: then its columns have other names.
        """
        language = self._language(where, fields)
        recipe = self.system.tasks[language].recipe
        identities = (fields.get(key) for key in (recipe.id, "id", "pmid") if key is not None)
        identity = next((i for i in identities if i not in (None, "")), number)
        try:
            text = text_of(fields, recipe.columns, where)
        except InputError as error:
            if not self.made:
                raise
            complain(f"{error}: left out")
            self._count_broken(
                f"{where}: more than {_MAX_BROKEN} records have no text that can be labelled", error
            )
            return
        self.made += 1
        yield InputDocument(identity, language, text)

    def _count_broken(self, message: str, error: Exception) -> None:
        self.broken += 1
        if self.broken > _MAX_BROKEN:
            raise InputError(message) from error

    def _language(self, where: str, fields: Mapping[str, Any]) -> str:
        """Return the model's language that a record is in."""
        named = None if self.language_column is None else fields.get(self.language_column)
        if named is None or named == "":
            if self.default is None:
                raise InputError(
                    f"{where}: the model has several languages "
                    f"({', '.join(self.system.tasks)}): choose one (--language), or name "
                    f"it in each record ({self.language_column!r})"
                )
            return self.default
        try:
            return find_language(self.system, str(named))
        except InputError as error:
            raise InputError(f"{where}: {error}") from error

    def report(self) -> None:
        """Say how many lines were left out, if any."""
        if self.broken or self.empty:
            complain(f"{self.name}: left out {self.broken} broken and {self.empty} empty lines")


def text_of(fields: Mapping[str, Any], columns: Iterable[str], where: str) -> Text:
    """Return the text of a record.

    It is in the columns of training, of which some may be empty; else in ``text``; else in a title
    and an abstract.

    Args:
        fields: the record.
        columns: the text columns of training.
        where: name of the record, for messages.

    Raises:
        InputError: it has none of these columns, or a list or an object in one.
    """
    columns = list(columns)
    # NaN, which is not equal to itself, is a cell without a text
    filled = {name: value for name, value in fields.items() if value and value == value}
    own = [name for name in columns if name in filled]
    others = filled.keys() & _TEXT - {*columns}
    # a title that the model knows may stand beside an abstract by a name that it does not know
    headings: list[str] = []
    if others and len(own) < len(columns) and {*_HEADINGS}.issuperset(own):
        headings, own = own, []
    if own:
        return [_as_text(filled, name, where) for name in own]
    if not fields.keys() & {*_TEXT, *columns}:
        own_names = f"{', '.join(map(repr, columns))} (as in training), nor " if columns else ""
        raise InputError(
            f"{where}: no {own_names}'text' (or 'title' and 'abstract'); the keys are "
            f"{', '.join(fields) or 'none'}{nearest((*columns, 'text')[0], fields)}"
        )
    if "text" in filled:
        text = _as_text(filled, "text", where)
        return [*(_as_text(filled, name, where) for name in headings), text] if headings else text
    return [_as_text(filled, name, where) for name in _PIECES if name in filled]


def _as_text(fields: Mapping[str, Any], name: str, where: str) -> str:
    value = fields[name]
    if not isinstance(value, str | int | float):
        raise InputError(f"{where}: {name!r} is no text: {value!r:.80}")
    return str(value)
