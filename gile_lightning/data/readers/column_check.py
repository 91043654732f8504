"""A check that a corpus has the columns that its reader names."""

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.data.formats.lines import Record
from gile_lightning.data.readers.columns import Columns

CHECK_AFTER = 1_000  # records read before a column that most of them lack is an error


class ColumnCheck:
    """Watches the records of a corpus, and stops early where a column's name is wrong.

    Args:
        columns: the names.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._first: list[Record] = []
        self._read = 0
        self._missing: dict[str, tuple[int, Record]] = {}

    def add(self, record: Record, missing: str | None) -> None:
        """Note a record, and the column that it lacks, if it lacks one.

        An empty list of labels is none: a corpus may have more documents without labels than with.

        Raises:
            InputError: see `finish`.
        """
        self._read += 1
        if missing is not None and not (
            missing == self.columns.labels and missing in record.fields
        ):
            count, first = self._missing.get(missing, (0, record))
            self._missing[missing] = count + 1, first
        if self._read <= CHECK_AFTER:
            self._first.append(record)
        if self._read == CHECK_AFTER:
            self.finish()

    def finish(self) -> None:
        """Check the records so far.

        Raises:
            InputError: most records lack a column, or all lack one of the columns of text.
        """
        present = {name for record in self._first for name in record.fields}
        absent = [name for name in self.columns.text if name not in present]
        lacking = {name: (self._read, self._first[0]) for name in absent} | self._missing
        for column, (count, first) in lacking.items():
            if count > self._read / 2:
                is_year = column == self.columns.year and first.fields.get(column)
                kind = "year in " if is_year else ""
                key = "--data.columns"
                if column == self.columns.id:
                    key += "; --data.columns.id null takes a hash of the text"
                raise InputError(
                    f"{first.where}: no {kind}{column!r} in this document and in {count:,} of the "
                    f"first {self._read:,}; the columns are {', '.join(first.fields)}"
                    f"{nearest(column, first.fields.keys() - {column, *self.columns.text})} (set "
                    f"{key})"
                )


def year_of(value: object) -> int | None:
    """Return the year that a value begins with, if it does: ``2005-12-31``, ``" 2005 Dec"``."""
    digits = str(value).lstrip()[:4] if value is not None else ""
    return int(digits) if len(digits) == 4 and digits.isdecimal() else None
