"""Streams of lines and JSON records, with the place of each."""

import glob
import gzip
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gile_lightning.common.errors import InputError, nearest_file
from gile_lightning.data.formats.binary_file import BinaryFile, most_of
from gile_lightning.data.formats.skipped import Skipped

BROKEN = "broken JSON line"
_SPREADSHEETS = (".xlsx", ".xls", ".ods")
_PARQUET = ".parquet"
_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
JSON_LIST = "{}: a JSON list; expected one object per line, as jq -c '.[]' writes them"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Record(NamedTuple):
    """One JSON object and where it stands (``file:line``)."""

    where: str
    fields: dict[str, Any]


def read_lines(path: Path | str, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Stream ``(line number from 1, line)`` of a plain or gzipped text file.

    Hugging Face `datasets` streams the file, so it is never whole in memory, and may be on any file
    system that fsspec knows.

    Raises:
        InputError: the file is missing, a spreadsheet, truncated, not gzip though named so, or
            wrongly encoded; a line is endless, or a gzip or zip file unfolds to far more than
            others of its size.
    """
    source = str(path)
    if source.lower().endswith(_SPREADSHEETS):
        raise InputError(f"{path}: a spreadsheet; save it as CSV in UTF-8")
    if "://" not in source:
        if not Path(path).is_file():
            raise InputError(f"{path}: no such file{nearest_file(path)}")
        if "::" in str(Path(path).absolute()):
            raise InputError(f"{path}: '::' stands for a chain of file systems; rename the path")
        source = glob.escape(source)  # `datasets` reads every name as a pattern
    if source.lower().endswith(_PARQUET):
        raise InputError(
            f"{path}: a Parquet file; save it as a dataset, which data.path takes "
            "(datasets.Dataset.from_parquet(FILE).save_to_disk(FOLDER)), or as JSON lines"
        )
    check_encoding(encoding)
    # which takes a second
    from gile_lightning.data.formats.line_builder import LineBuilder, TooMuchError

    number = 0
    try:
        builder = LineBuilder(data_files={"train": [source]}, hash="lines", encoding=encoding)
        deflated = source.lower().endswith((".gz", ".zip")) and "://" not in source
        builder.most = most_of(path) if deflated else None
        stream = builder.as_streaming_dataset("train")
        for table in stream.with_format("arrow").iter(batch_size=1_000):
            for line in table.column("text").to_pylist():
                number += 1
                yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile) as error:
        if str(error).startswith("Not a gzipped file"):
            raise InputError(f"{path}: not a gzip file; rename it without .gz") from error
        raise InputError(
            f"{path}: truncated or damaged after about line {number:,}; get it again"
        ) from error
    except OSError as error:
        if str(error) != "Invalid data stream":  # of bzip2
            raise
        raise InputError(f"{path}: damaged after about line {number:,}; get it again") from error
    except TooMuchError as error:
        raise InputError(f"{path}: after line {number:,}: {error}") from error
    except UnicodeError as error:
        line = _undecodable(path, encoding, number + 1)
        raise InputError(
            f"{path}: not {encoding} text near line {line:,} ({reason(error)}); save it as UTF-8"
        ) from error


def plain_name(path: Path | str) -> str:
    """Return the name of a file in lower case, without the ending of what compresses it.

    >>> plain_name("DIR/Topics.CSV.bz2"), plain_name("a.b")
    ('topics.csv', 'a.b')
    """
    name = Path(path).name.lower()
    packed = next((ending for ending in _COMPRESSED if name.endswith(ending)), "")
    return name.removesuffix(packed)


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that Python does not know, or that is not one of text.

    Raises:
        InputError: it is none.
    """
    try:
        "".encode(encoding)
    except LookupError as error:  # of rot13 too, which makes text of text
        raise InputError(f"{encoding!r} is no text encoding that Python knows") from error


def reason(error: UnicodeError) -> str:
    """Return why a text cannot be decoded; UTF-16 without its first mark has no reason."""
    return error.reason if isinstance(error, UnicodeDecodeError) else str(error)


def _undecodable(path: Path | str, encoding: str, first: int) -> int:
    """Return the first line from ``first`` on that is wrongly encoded; ``first`` if none is alone.

    Lines come in large pieces, of which only the first line is known.
    """
    if "://" in str(path):
        return first
    with BinaryFile(path) as file:
        for number, line in enumerate(file.read().split(b"\n"), 1):
            try:
                line.decode(encoding)
            except UnicodeError:
                if number >= first:
                    return number
    return first


def read_records(
    paths: Sequence[Path | str], skipped: Skipped, max_broken: int = 100, encoding: str = "utf-8"
) -> Iterator[Record]:
    """Stream the JSON objects of files with one object per line.

    The BioASQ format has a comma after each object, and the lines ``{"articles":[`` and ``]}``
    around all of them; these are removed, as are the brackets of a list with an object per line.
    Broken lines are skipped and counted.

    Raises:
        InputError: more than ``max_broken`` lines are broken, or a file has nothing but those.
    """
    broken = 0
    for path in paths:
        objects, in_list = 0, False
        for number, line in read_lines(path, encoding):
            text = line.strip().lstrip("\ufeff").strip(",").strip()
            if number == 1 and text.startswith("["):
                in_list, text = True, text.removeprefix("[").strip()
            elif number == 1 and text.startswith('{"articles"'):
                text = text.partition("[")[2].strip()
            if text in ("", "]}", "[", "]"):
                continue
            try:
                fields = json.loads(text)
                if not isinstance(fields, dict):
                    raise ValueError("not a JSON object")
            except (ValueError, RecursionError) as error:
                # the last article of the original stands on the line of the closing bracket
                fields = _without_closing_bracket(text)
                if fields is None:
                    where = f"{path}:{number}"
                    skipped.add(BROKEN, where)
                    broken += 1
                    if broken > max_broken and in_list and not objects:
                        raise InputError(JSON_LIST.format(path)) from error
                    if broken > max_broken:
                        raise InputError(
                            f"{where}: {broken} lines are not JSON objects (first: "
                            f"{skipped.first[BROKEN]}), more than max_broken_lines = "
                            f"{max_broken} allows; is this one JSON object per line? ({error})"
                        ) from error
                    continue
            objects += 1
            yield Record(f"{path}:{number}", whole_characters(fields, text))
        if not objects and in_list:
            raise InputError(JSON_LIST.format(path))
        if not objects:
            raise InputError(f"{path}: no JSON object in the file; expected one per line")


def whole_characters(fields: dict[str, Any], text: str) -> dict[str, Any]:
    """Return a record with question marks for halves of characters, as a cut-off emoji leaves.

    Args:
        fields: the record.
        text: its JSON, in which such a half can only be escaped.
    """
    if not _SURROGATE.search(text):
        return fields
    whole = json.dumps(fields, ensure_ascii=False).encode(errors="replace")
    repaired: dict[str, Any] = json.loads(whole)
    return repaired


def _without_closing_bracket(text: str) -> dict[str, Any] | None:
    """Return the object on a line that ends with the end of the list; None for other lines."""
    ending = next((ending for ending in ("]}", "]") if text.endswith(ending)), None)
    if ending is None:
        return None
    try:
        fields = json.loads(text.removesuffix(ending).rstrip().rstrip(","))
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def find_files(path: str) -> Sequence[Path]:
    """Return the one file, or the files of a glob, at ``path``; none if it is neither.

    Raises:
        InputError: no file matches the glob.
    """
    if Path(path).exists() or not any(sign in path for sign in "*?["):
        return [Path(path)] if Path(path).is_file() else []
    files = [Path(file) for file in sorted(glob.glob(path, recursive=True)) if Path(file).is_file()]
    if not files:
        raise InputError(f"{path}: no file matches")
    return files
