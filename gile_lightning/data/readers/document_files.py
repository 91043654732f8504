"""Documents from files, in the format that the ending of a file's name says."""

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from gile_lightning.data.document import SPLITS
from gile_lightning.data.formats.annif import (
    TEXT,
    is_uri,
    read_full_text,
    read_short_texts,
    uris_in,
)
from gile_lightning.data.formats.hub_datasets import is_saved_dataset
from gile_lightning.data.formats.lines import Record, find_files, plain_name, read_records
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.formats.tables import names_in, read_table
from gile_lightning.data.readers.columns import Columns


def find_document_files(path: str) -> Sequence[Path]:
    """Return the files of documents at a path: the file, those of a glob, or a folder's texts.

    There is none where the path is a saved dataset, or the name of one on the hub.

    Raises:
        InputError: no file matches the glob.
    """
    folder = Path(path)
    if folder.is_dir() and not is_saved_dataset(folder):
        return sorted(file for file in folder.iterdir() if file.name.lower().endswith(TEXT))
    return find_files(path)


def read_document_files(
    files: Sequence[Path], columns: Columns, skipped: Skipped, max_broken: int, encoding: str
) -> Iterator[Record]:
    """Stream the documents of files as records.

    * ``.csv``: a table with a header. Labels are names with | between them, or URIs with spaces.
    * ``.tsv``: a text, a tab and URIs; see `read_short_texts`. Its id is file and line.
    * ``.txt``: one document each; see `read_full_text`. Its id is the file without the ending.
    * any other: JSON lines.

    Where ``columns.split`` is named, the name of a ``.tsv`` file or of the folder of a ``.txt``
    file says it, if it is that of a split.

    Raises:
        InputError: a file cannot be read.
    """
    common = os.path.commonpath([file.absolute().parent for file in files])
    for ending, same in groupby(files, _ending):
        if ending not in (".csv", ".tsv", TEXT):
            yield from read_records(list(same), skipped, max_broken, encoding)
            continue
        for file in same:
            name = str(file.absolute().relative_to(common))
            if ending == ".csv":
                for where, fields in read_table(file, encoding):
                    cell = fields.get(columns.labels) or ""
                    uris = is_uri(cell.replace("|", " ").partition(" ")[0])
                    labels = uris_in(cell) if uris else names_in(cell)
                    named = {columns.labels: labels} if columns.labels in fields else {}
                    yield Record(where, fields | named)
            elif ending == ".tsv":
                split = file.name.partition(".")[0]
                for where, text, uris_of in read_short_texts(file, encoding):
                    identity = f"{name}:{where.rpartition(':')[2]}"
                    yield Record(where, _fields(columns, identity, text, uris_of, split))
            else:
                text, labels = read_full_text(file, encoding)
                identity = name[: -len(TEXT)]
                split = file.absolute().parent.name
                yield Record(str(file), _fields(columns, identity, text, labels, split))


def _ending(file: Path) -> str:
    return Path(plain_name(file)).suffix


def _fields(
    columns: Columns, identity: str, text: str, labels: list[str], split: str
) -> dict[str, Any]:
    named = {columns.split: split} if columns.split and split in SPLITS else {}
    own = {} if columns.id is None else {columns.id: identity}
    return {**own, columns.text[0]: text, columns.labels: labels, **named}
