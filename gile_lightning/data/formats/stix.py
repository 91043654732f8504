"""STIX 2.x: the objects of bundles, and their texts without markup."""

import html
import json
import re
from collections.abc import Iterable
from pathlib import Path

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.binary_file import BinaryFile
from gile_lightning.data.formats.lines import Record

PATTERNS = ("*.json", "*.json.gz")

_NESTED = r"(?:[^()]|\([^()]*\))*"  # text with brackets at most one deep
_CITATION = re.compile(rf"\(Citation:{_NESTED}\)")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*\)")
# other words between < and >, such as <username>, are part of the text
_BREAK = re.compile(r"</?(?:br|div|h[1-6]|li|ol|p|pre|table|td|th|tr|ul)\b[^<>]*>", re.I)
_INLINE = re.compile(r"</?(?:a|b|code|em|i|small|span|strong|sub|sup|u)\b[^<>]*>", re.I)


def find_bundles(path: Path) -> list[Path]:
    """Return a bundle's file, or the files ``*.json[.gz]`` of a folder, but not below it.

    Raises:
        InputError: there is none.
    """
    files = [path] if path.is_file() else []
    if path.is_dir():
        files = sorted(file for pattern in PATTERNS for file in path.glob(pattern))
        if not files:
            raise InputError(f"{path}: no {' or '.join(PATTERNS)} there (--data.path)")
    if not files:
        raise InputError(f"{path}: no such file or folder (--data.path)")
    return files


def read_objects(files: Iterable[Path]) -> dict[str, Record]:
    """Read the objects of bundles by their ids, in order.

    An object that comes several times, as in several releases, counts as it was last modified.

    Raises:
        InputError: a file is no bundle of STIX 2.
    """
    found: dict[str, Record] = {}
    for file in files:
        for number, fields in enumerate(_bundle(file), 1):
            if not isinstance(fields, dict) or not all(
                isinstance(fields.get(key), str) for key in ("type", "id")
            ):
                raise InputError(f"{file}: object {number:,} has no 'type' and 'id'")
            known = found.get(fields["id"])
            if known is None or _modified(fields) > _modified(known.fields):
                found[fields["id"]] = Record(f"{file}: {fields['id']}", fields)
    return found


def _bundle(file: Path) -> list[object]:
    try:
        with BinaryFile(file) as stream:
            bundle = json.loads(stream.read())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON ({error})") from error
    if not isinstance(bundle, dict) or bundle.get("type") != "bundle":
        raise InputError(f'{file}: no STIX 2 bundle, which begins with {{"type": "bundle"')
    objects = bundle.get("objects")
    if not isinstance(objects, list) or not objects:
        raise InputError(f"{file}: a bundle without 'objects'")
    return objects


def _modified(fields: dict[str, object]) -> str:
    """Return a time that can be compared: all are UTC, written alike."""
    return str(fields.get("modified") or "")


def plain_text(text: str) -> str:
    """Return a description without citations, links, HTML and runs of spaces.

    >>> plain_text("[Net](https://x.org/S1)  runs <code>net &lt;user&gt;</code>.(Citation: A (B))")
    'Net runs net <user>.'
    """
    text = _LINK.sub(r"\1", _CITATION.sub("", text))
    text = _INLINE.sub("", _BREAK.sub(" ", text))
    return " ".join(html.unescape(text).split())
