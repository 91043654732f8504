"""Documents in the formats of Annif, which names their labels by URI or by name.

See github.com/NatLibFi/Annif/wiki/Document-corpus-formats.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.lines import check_encoding, reason
from gile_lightning.data.formats.tables import read_rows

TEXT = ".txt"
_URI = re.compile(r"<?(https?|urn):\S*")


def is_uri(name: str) -> bool:
    """Return whether a name of a label is a URI, perhaps in angle brackets.

    >>> is_uri("http://example.org/1"), is_uri("<urn:1>"), is_uri("Cats: care")
    (True, True, False)
    """
    return _URI.fullmatch(name) is not None


def uris_in(cell: str) -> list[str]:
    """Split URIs at spaces or ``|``, and take the angle brackets off.

    >>> uris_in("<http://example.org/1> <http://example.org/2>|urn:3")
    ['http://example.org/1', 'http://example.org/2', 'urn:3']
    """
    return [uri.removeprefix("<").removesuffix(">") for uri in cell.replace("|", " ").split()]


def read_short_texts(path: Path, encoding: str = "utf-8") -> Iterator[tuple[str, str, list[str]]]:
    """Stream ``(file:line, text, URIs)`` of lines with a text, a tab, and URIs between spaces.

    Raises:
        InputError: the file cannot be read, or a line has more tabs, or no URI behind its tab.
    """
    for where, cells in read_rows(path, encoding, tabs=True):
        if len(cells) > 2:
            raise InputError(
                f"{where}: {len(cells)} cells; expected a text, a tab, and URIs between spaces"
            )
        text, labels = (*cells, "")[:2]
        uris = uris_in(labels)
        if uris and not any(":" in uri for uri in uris):
            raise InputError(
                f"{where}: {labels!r:.60} is no URI; expected a text, a tab, and URIs between "
                "spaces; a table with a header and names of labels is a .csv"
            )
        yield where, text, uris


def subject_file(document: Path) -> Path | None:
    """Return the file with the labels of a document ``.txt``: its ``.tsv`` or else its ``.key``."""
    if document.suffix.lower() != TEXT:
        return None
    endings = [end for end in (".tsv", ".key") for end in (end, end.upper())]
    candidates = map(document.with_suffix, endings)
    return next((file for file in candidates if file.is_file()), None)


def read_full_text(path: Path, encoding: str = "utf-8") -> tuple[str, list[str]]:
    """Read a file that is one document: its text, and the labels that the file beside it has.

    A ``.key`` file has the name of a label per line. A ``.tsv`` file has its URI in angle brackets;
    the name and all else behind the next tab is of no account.

    Raises:
        InputError: a file is wrongly encoded, or a line of a ``.tsv`` has no URI in brackets.
    """
    labels: list[str] = []
    file = subject_file(path)
    if file is not None and file.suffix.lower() == ".key":
        labels = [name for name in map(str.strip, _read(file, encoding).splitlines()) if name]
    elif file is not None:
        for number, line in enumerate(_read(file, encoding).splitlines(), 1):
            uri = line.partition("\t")[0].strip()
            if not uri and not line.strip():
                continue
            if not uri.startswith("<") or not uri.endswith(">"):
                raise InputError(
                    f"{file}:{number}: expected <uri>, a tab and the label's name, not {line!r:.60}"
                )
            labels += uris_in(uri)
    return _read(path, encoding), labels


def _read(path: Path, encoding: str) -> str:
    check_encoding(encoding)
    try:
        return path.read_text(encoding=encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        raise InputError(f"{path}: not {encoding} text ({reason(error)})") from error
