"""How many lines files have, from a part of them: for the time left, before they are read."""

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_PLACES = 64  # of a plain file, evenly over its length
_PART = 128 * 1024  # bytes that are read at each of them
_UNFOLDED = 16 * 1024 * 1024  # of a gzip file, from its beginning


class Total(NamedTuple):
    """A number of documents, and whether it is exact."""

    number: int
    exact: bool = False


def estimate_lines(paths: Sequence[Path | str]) -> int | None:
    """Estimate the number of lines of text files, plain or gzip.

    A plain file has as many lines per byte as at 64 places, a gzip file per compressed byte as at
    its beginning. What is read whole is counted. Empty lines count.

    Returns:
        The number; None if a file cannot be read here, such as one at a URL.
    """
    total = 0.0
    for path in paths:
        try:
            size = Path(path).stat().st_size
            counted = _of_gzip if str(path).endswith(".gz") else _of_plain
            lines, part = counted(Path(path), size)
        except (OSError, zlib.error):
            return None
        total += lines / part if part else 0
    return round(total)


def _of_plain(path: Path, size: int) -> tuple[int, float]:
    """Return the lines of a part of a file, and how large that part is of the whole."""
    if not size:
        return 0, 0
    if size <= _PLACES * _PART:
        content = path.read_bytes()
        return content.count(b"\n") + (not content.endswith(b"\n")), 1
    lines = 0
    with open(path, "rb") as file:
        for i in range(_PLACES):
            file.seek(i * (size - _PART) // (_PLACES - 1))
            lines += file.read(_PART).count(b"\n")
    return lines, _PLACES * _PART / size


def _of_gzip(path: Path, size: int) -> tuple[int, float]:
    lines, unfolded, last = 0, 0, b"\n"
    with open(path, "rb") as file:
        reader = zlib.decompressobj(wbits=31)
        while unfolded < _UNFOLDED:
            if reader.eof:  # a file may have several parts
                rest = reader.unused_data or file.read(_PART)
                if not rest:
                    return lines + (last != b"\n"), 1
                reader = zlib.decompressobj(wbits=31)
            else:
                rest = reader.unconsumed_tail or file.read(_PART)
                if not rest:
                    return lines, 1  # truncated: whoever reads it says so
            content = reader.decompress(rest, _PART)
            lines, unfolded = lines + content.count(b"\n"), unfolded + len(content)
            last = content[-1:] or last
        read = file.tell() - len(reader.unconsumed_tail) - len(reader.unused_data)
    return lines, read / size
