"""Tables in CSV and TSV files."""

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.lines import Record, plain_name, read_lines

SEPARATOR = "|"  # between the names in a cell
_LONGEST = 2**31 - 1  # characters of a cell; Python's own limit is shorter than many texts


def is_tsv(path: Path | str) -> bool:
    """Return whether a file is named as one of tab-separated values."""
    return plain_name(path).endswith(".tsv")


def read_rows(
    path: Path | str, encoding: str = "utf-8", tabs: bool | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Stream ``(file:line, cells)`` of the rows that are not empty, without spaces around cells.

    Cells of ``.csv`` may be quoted, and then have line breaks. Between them stand commas, or
    semicolons or tabs if the first line has more of these. Cells of ``.tsv`` are as they stand
    between tabs. Both may be compressed. ``tabs`` says which of these a file is, whatever its name.

    Raises:
        InputError: the file cannot be read, or a quote is left open.
    """
    csv.field_size_limit(_LONGEST)
    lines = (line.removeprefix("\ufeff") + "\n" for _, line in read_lines(path, encoding))
    if is_tsv(path) if tabs is None else tabs:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        first = next(lines, "")
        delimiter = max(",;\t", key=first.count)
        rows = csv.reader(chain([first], lines), strict=True, delimiter=delimiter)
    while True:
        where = f"{path}:{rows.line_num + 1}"
        try:
            cells = [cell.strip() for cell in next(rows)]
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"{where}: not a row of CSV ({error})") from error
        if any(cells):
            yield where, cells


def read_table(
    path: Path | str, encoding: str = "utf-8", tabs: bool | None = None
) -> Iterator[Record]:
    """Stream the rows below the header, as the cells by the names of their columns.

    Arguments are those of `read_rows`.

    Raises:
        InputError: the file has no row, a column has no name or that of another one, or a row has
            more or fewer cells than the header.
    """
    rows = read_rows(path, encoding, tabs)
    where, header = next(rows, (str(path), []))
    if not header:
        raise InputError(f"{path}: no row in the file; the first one names the columns")
    if len({*header, ""}) <= len(header):
        raise InputError(f"{where}: columns need names, each its own: {', '.join(header)}")
    for where, cells in rows:
        if len(cells) != len(header):
            raise InputError(
                f"{where}: {len(cells)} cells, where the header has {len(header)}; put quotes "
                "around a cell with a comma or a semicolon"
            )
        yield Record(where, dict(zip(header, cells, strict=True)))


def names_in(cell: str) -> list[str]:
    """Split a cell into the names that it has.

    >>> names_in("Felis catus | cats|")
    ['Felis catus', 'cats']
    """
    return [name for name in map(str.strip, cell.split(SEPARATOR)) if name]
