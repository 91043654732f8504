"""Files that describe labels."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.data.formats.attack import Techniques
from gile_lightning.data.formats.binary_file import BinaryFile
from gile_lightning.data.formats.descriptions import Described, described
from gile_lightning.data.formats.lines import Record, plain_name, read_records
from gile_lightning.data.formats.mesh import read_headings, with_parents
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.formats.skos import SERIALIZATIONS, read_concepts
from gile_lightning.data.formats.stix import read_objects
from gile_lightning.data.formats.tables import is_tsv, names_in, read_rows, read_table

_BEGINNING = 4096  # bytes of a file that tell what it is
_BUNDLE = re.compile(rb'"type"\s*:\s*"bundle"|"objects"\s*:\s*\[')
_KEYS = ("name", "description", "synonyms", "parents", "uri")
_LABEL = "label_"  # before the language, in the header of Annif's tables


def read_labels(
    path: Path | str,
    skipped: Skipped | None = None,
    encoding: str = "utf-8",
    language: str | None = None,
) -> Iterator[Described]:
    """Stream labels from a file, in the format that its name and its beginning tell.

    * ``.ttl``, ``.rdf``, ``.xml``, ``.jsonld``, ``.nt``: a SKOS vocabulary; see `read_concepts`.
    * ``.bin``, and ``.xml`` that begins as NLM's file does: the headings of MeSH.
    * ``.json`` that begins as a bundle of STIX 2 does: the techniques of ATT&CK; see `Techniques`.
    * ``.csv``, ``.tsv``: a table whose header has ``name``, and perhaps ``description``,
      ``synonyms``, ``parents`` (names with | between them) and ``uri``. Annif's tables are read
      too: rows of ``<uri>``, a tab and the name; and CSV with ``uri``, ``label_en``, ``label_fr``.
    * any other: JSON lines with ``name`` and ``description``, and perhaps ``synonyms`` and
      ``parents``, lists of names, and ``uri``.

    All may be gzipped (``.gz``).

    Args:
        path: the file.
        skipped: counts what is left out.
        encoding: of JSON lines and tables; vocabularies have their own.
        language: the labels' language, as an ISO 639-1 code or a longer language tag; needed if
            the file has several.

    Raises:
        InputError: a label has no name, or something else than lists of names; a vocabulary has no
            label; or the file cannot be read.
    """
    skipped = skipped or Skipped()
    kind = _format(path)
    if kind == "skos":
        yield from read_concepts(path, skipped, language)
    elif kind == "mesh":
        headings = with_parents(read_headings(path))
        yield from _some(
            headings, f"{path}: no heading in it; those of MeSH are in d*.bin, desc*.xml"
        )
    elif kind == "attack":
        techniques = Techniques(read_objects([Path(path)])).labels(skipped)
        yield from _some(techniques, f"{path}: no technique of ATT&CK in force in it")
    elif kind == "table":
        yield from _read_table(path, skipped, encoding, language)
    else:
        checked = _watched(read_records([path], skipped, 0, encoding), skipped)
        for where, fields in checked:
            yield _label(where, fields, "name")


def is_vocabulary(path: Path | str) -> bool:
    """Return whether a file is a vocabulary as its publisher made it, and no user's own list."""
    return _format(path) in ("skos", "mesh", "attack")


def _format(path: Path | str) -> Literal["skos", "mesh", "attack", "table", "json"]:
    ending = Path(str(path).lower().removesuffix(".gz")).suffix
    if ending == ".bin" or (ending == ".xml" and b"DescriptorRecordSet" in _beginning(path)):
        return "mesh"
    if ending in SERIALIZATIONS:
        return "skos"
    if plain_name(path).endswith((".csv", ".tsv")):
        return "table"
    return "attack" if ending == ".json" and _is_bundle(_beginning(path)) else "json"


def _is_bundle(beginning: bytes) -> bool:
    """Tell a bundle, which is one object, from JSON lines, whose first line is a label."""
    try:
        first = json.loads(beginning.splitlines()[0])
    except (ValueError, IndexError):  # an object of several lines, or a line that is cut off
        return _BUNDLE.search(beginning) is not None
    return isinstance(first, dict) and first.get("type") == "bundle" and "objects" in first


def _some(labels: Iterator[Described], message: str) -> Iterator[Described]:
    """Yield the labels, and raise an error if there is none."""
    first = next(labels, None)
    if first is None:
        raise InputError(message)
    yield first
    yield from labels


def _beginning(path: Path | str) -> bytes:
    if "://" in str(path):  # JSON lines and tables can be elsewhere, vocabularies are local
        return b""
    with BinaryFile(path) as file:
        return file.read(_BEGINNING)


def _read_table(
    path: Path | str, skipped: Skipped, encoding: str, language: str | None
) -> Iterator[Described]:
    first = next(read_rows(path, encoding), ("", [""]))[1][0]
    if is_tsv(path) and first.startswith("<"):
        for where, cells in read_rows(path, encoding):
            if len(cells) < 2:
                raise InputError(f"{where}: expected <uri>, a tab and the name of the label")
            uri, name = cells[0].removeprefix("<").removesuffix(">"), cells[1]
            yield _label(where, {"uri": uri, "name": name}, "name")
        return
    column = None
    for where, fields in _watched(read_table(path, encoding), skipped):
        column = column or _name_column(path, fields, language)
        if column != "name" and not fields[column]:
            skipped.add(f"labels without a name in {column!r}", where)
            continue
        lists = {key: names_in(fields.get(key, "")) for key in ("synonyms", "parents")}
        yield _label(where, fields | lists, column)
    if column is None:
        raise InputError(f"{path}: no label in the file")


def _watched(records: Iterator[Record], skipped: Skipped) -> Iterator[Record]:
    """Yield records, and count keys of the first one that are nearly those that are read."""
    first = next(records, None)
    if first is None:
        return
    lacking = [key for key in _KEYS if key not in first.fields]
    for key in first.fields:
        if key not in _KEYS and (meant := nearest(key, lacking)):
            skipped.add(f"column of labels, {key!r}{meant}", first.where)
    yield first
    yield from records


def _name_column(path: Path | str, header: Mapping[str, object], language: str | None) -> str:
    """Return the column that has the names.

    Raises:
        InputError: there is none, or several of which none is in the language.
    """
    if "name" in header:
        return "name"
    columns = [column for column in header if column.startswith(_LABEL)]
    if language is not None and _LABEL + language in columns:
        return _LABEL + language
    if not columns:
        raise InputError(f"{path}: no column 'name'; the columns are {', '.join(header)}")
    if language is not None or len(columns) > 1:
        raise InputError(
            f"{path}: the names are in {', '.join(columns)}; choose one by its language "
            f"(label_language: {columns[0].removeprefix(_LABEL)})"
        )
    return columns[0]


def _label(where: str, fields: Mapping[str, object], column: str) -> Described:
    name = fields.get(column)
    if not isinstance(name, str | None):
        raise InputError(f"{where}: {column!r} is no text: {name!r:.80}")
    if name is None or not name.strip():
        raise InputError(
            f"{where}: a label needs a {column!r}; the keys are {', '.join(fields) or 'none'}"
        )
    return described(where, name, fields)
