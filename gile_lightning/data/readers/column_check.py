"""A check that a corpus has the columns that its reader names."""

import re
from collections.abc import Sequence

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.data.formats.lines import Record
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.readers.columns import Columns

_YEAR = re.compile(r"\s*(\d{4})(\d*)", re.ASCII)
_UNIX_TIMES = (10, 13)  # digits
CHECK_AFTER = 1_000  # records read before a column that most of them lack is an error


class ColumnCheck:
    """Watches the records of a corpus, and stops early where a column's name is wrong.

    Args:
        columns: the names.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._texts = (*columns.lead, *columns.text)
        self._first: list[Record] = []
        self._present: set[str] = set()  # of the columns of text
        self._read = 0
        self._missing: dict[str, tuple[int, Record]] = {}

    def add(self, record: Record, missing: str | None) -> None:
        """Note a record, and the column that it lacks, if it lacks one.

        One of ``columns.text`` that the first records lack, and that is named nearly as a column
        that they have, is an error at once.

        An empty list of labels is none: a corpus may have more documents without labels than with.

        Raises:
            InputError: as in `finish`.
        """
        self._read += 1
        if missing is not None and not (
            missing == self.columns.labels and missing in record.fields
        ):
            count, first = self._missing.get(missing, (0, record))
            self._missing[missing] = count + 1, first
        self._present.update(name for name in self._texts if name in record.fields)
        if self._read <= CHECK_AFTER:
            self._first.append(record)
        if self._read == CHECK_AFTER:  # an optional column of another name may come later
            texts = [name for name in self._absent() if name in self.columns.text]
            self._check([name for name in texts if self._near(name)])

    def finish(self, skipped: Skipped) -> None:
        """Check all records, and count the columns before the text that none has.

        Raises:
            InputError: most records lack a column, or all lack one of the columns of text.
        """
        absent = self._absent()
        self._check([name for name in absent if name in self.columns.text])
        for name in absent if self._first else ():
            reason = f"column before the text, {name!r}, that no document has{self._near(name)}"
            skipped.add(reason, self._first[0].where)

    def _absent(self) -> list[str]:
        return [name for name in self._texts if name not in self._present]

    def _near(self, column: str) -> str:
        """Return the column that may be meant, as a remark; nothing if there is none."""
        return nearest(column, self._first[0].fields.keys() - {column, *self._texts})

    def _check(self, absent: Sequence[str]) -> None:
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
                    f"{nearest(column, first.fields.keys() - {column, *self._texts})} (set "
                    f"{key})"
                )


def year_of(value: object) -> int | None:
    """Return the year that a value begins with, if it does: ``2005-12-31``, ``" 2005 Dec"``.

    If more digits follow, the year is one from 1000 to 2199, and eight digits are a date
    (``20051231``, not ``31122005``). 10 or 13 digits from 1 on are a time since 1970, and no year.
    """
    if value is None or (found := _YEAR.match(str(value))) is None:
        return None
    year, more = found.groups()
    if more and not 1000 <= int(year) < 2200:
        return None
    if len(more) == 4 and not (1 <= int(more[:2]) <= 12 and 1 <= int(more[2:]) <= 31):
        return None
    if year[0] == "1" and len(year + more) in _UNIX_TIMES:
        return None
    return int(year)
