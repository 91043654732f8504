"""Records of a corpus as documents."""

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from numbers import Real
from typing import Any

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import SPLITS, Document
from gile_lightning.data.formats.descriptions import composed
from gile_lightning.data.formats.lines import Record
from gile_lightning.data.readers.column_check import year_of
from gile_lightning.data.readers.columns import Columns


class RecordParser:
    """Makes documents of records.

    Args:
        columns: which column is what.
        split_year: first year of the test documents, if there is a year column; None ignores the
            years.

    Attributes:
        years: those of the documents that a year has put into a split.
    """

    def __init__(self, columns: Columns, split_year: int | None) -> None:
        self.columns = columns
        self.split_year = split_year
        self.years: set[int] = set()
        self._times: Counter[bytes] = Counter()  # of texts without an id

    @property
    def by_year(self) -> bool:
        """Whether the year of a document decides its split."""
        columns = self.columns
        return bool(columns.year) and not columns.split and self.split_year is not None

    def parse(self, record: Record) -> Document | str:
        """Make a document of a record, or name the column that it lacks.

        Raises:
            InputError: a text is a list or an object, the labels are no list of names, or the split
                has another name.
        """
        fields, columns = record.fields, self.columns
        identity = None if columns.id is None else fields.get(columns.id)
        if columns.id is not None and (identity in (None, "") or _is_nan(identity)):
            return columns.id
        lead, texts = _filled(record, columns.lead), _filled(record, columns.text)
        if not texts:
            return " and ".join(columns.text)
        labels = fields.get(columns.labels)
        if not labels or _is_nan(labels):
            return columns.labels
        if isinstance(labels, str):
            labels = [labels]
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise InputError(not_names(record.where, columns.labels, labels))
        labels = [composed(label.strip()) for label in labels]
        split = self._split(record)
        if split is None:
            return str(columns.year)
        if columns.id is None:
            identity = self._hash_of([*lead, *texts])
        return Document(record.where, str(identity), lead + texts, labels, split)

    def _hash_of(self, pieces: Sequence[Any]) -> str:
        """Return a hash of a text, with a number if the text has come before."""
        digest = blake2b(repr(pieces).encode(errors="surrogatepass"), digest_size=8).digest()
        self._times[digest] += 1
        times = self._times[digest]
        return digest.hex() + (f"-{times}" if times > 1 else "")

    def _split(self, record: Record) -> str | None:
        """Return a document's split, "" to draw it, or None if its year is missing."""
        columns = self.columns
        if columns.split:
            split = str(record.fields.get(columns.split) or "")
            if split not in SPLITS:
                raise InputError(
                    f"{record.where}: {columns.split!r} is {split!r}, expected one of "
                    f"{', '.join(SPLITS)}; set --data.columns.split null to draw one"
                )
            return split
        if columns.year and self.split_year is not None:
            year = year_of(record.fields.get(columns.year))
            if year is None:
                return None
            self.years.add(year)
            return "train" if year < self.split_year else "test"
        return ""


def not_names(where: str, column: str, labels: Any) -> str:
    """Say that labels are not named by texts."""
    return f"{where}: {column!r} is not a list of label names: {labels!r:.80}"


def _is_nan(value: Any) -> bool:
    """Return whether a value is NaN, which stands for an empty cell in tables of pandas."""
    return isinstance(value, Real) and value != value


def _filled(record: Record, columns: Iterable[str]) -> list[str | list[str]]:
    """Return the texts of the columns that have one.

    Raises:
        InputError: one is a list or an object.
    """
    found: list[str | list[str]] = []
    for name in columns:
        value = record.fields.get(name)
        if value is None or _is_nan(value):
            continue
        if not isinstance(value, str | int | float):
            raise InputError(
                f"{record.where}: {name!r} is no text: {value!r:.80}; join its parts into one"
            )
        if str(value).strip():
            found.append(str(value))
    return found
