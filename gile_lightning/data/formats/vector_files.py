"""Large files of pretrained word vectors, from which only wanted words are read."""

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.binary_file import BinaryFile
from gile_lightning.data.formats.lines import read_lines

BINARY = (".bin", ".bin.gz")
CHUNK = 2**22  # bytes of a binary file in memory
LONGEST_WORD = 2**16  # bytes
MOST_NUMBERS = 2**20  # of a vector
FASTTEXT = struct.pack("<i", 793712314)  # the first bytes of a fastText model

Row = tuple[str, NDArray[np.float32]]


def vector_size(path: Path | str) -> int:
    """Return how many numbers a vector of a file has, as its first line tells; see `find_vectors`.

    Raises:
        InputError: the file is missing or in another format.
    """
    if _is_binary(path):
        with BinaryFile(path) as file:
            return _announced(path, file)[1]
    return _text_size(path)


def find_vectors(path: Path | str, words: Sequence[str]) -> dict[int, NDArray[np.float32]]:
    """Find the vectors of words in a file of any size.

    Formats: text with a line per word, the word and its numbers separated by spaces, with a first
    line "V d" (word2vec, fastText's .vec) or without (GloVe); ``.bin`` for word2vec's binary one
    (GoogleNews), after that line each word, a space and its numbers as little-endian float32;
    either may be gzipped (``.gz``).

    If the file has a word in another case only (GoogleNews: "DNA" for "dna"), the first such vector
    is used, which is that of the most frequent form.

    Args:
        path: the file.
        words: the words, in the case to look for first.

    Returns:
        The vectors [d] by the place of the word among ``words``.

    Raises:
        InputError: the file is missing, damaged or in another format, a vector has another size
            than the first or a number that is not finite.
    """
    ids = {word: i for i, word in enumerate(words)}
    exact: dict[int, NDArray[np.float32]] = {}
    other: dict[int, NDArray[np.float32]] = {}
    read = _read_binary if _is_binary(path) else _read_text
    for word, vector in read(path, lambda word: word in ids or word.lower() in ids):
        if not np.isfinite(vector).all():
            raise InputError(f"{path}: the vector of {word!r} has numbers that are not finite")
        if word in ids:
            exact.setdefault(ids[word], vector)
        else:
            other.setdefault(ids[word.lower()], vector)
    return other | exact


def _is_binary(path: Path | str) -> bool:
    """Return whether the file is in word2vec's binary format; refuse fastText's models."""
    name = str(path)
    if "://" not in name and Path(path).is_file():
        with BinaryFile(path) as file:
            if file.read(len(FASTTEXT)) == FASTTEXT:
                raise InputError(
                    f"{path}: a fastText model, not word vectors; take the .vec file that is "
                    "shared beside it"
                )
    return name.endswith(BINARY)


def header(fields: Sequence[str]) -> tuple[int, int] | None:
    """Return the numbers of words and of their dimensions, if these are the fields of a line."""
    if len(fields) != 2 or not all(x.isdecimal() and len(x) < 20 for x in fields):
        return None
    return int(fields[0]), int(fields[1])


def checked_size(path: Path | str, size: int) -> int:
    """Return the size of a vector, if one can have it.

    Raises:
        InputError: it is too large.
    """
    if size > MOST_NUMBERS:
        raise InputError(
            f"{path}: the first line announces vectors of {size:,} numbers; at most "
            f"{MOST_NUMBERS:,} are read"
        )
    return size


def _announced(path: Path | str, file: BinaryFile) -> tuple[int, int]:
    """Read the first line "V d" of a binary file."""
    line = b""
    while not line.endswith(b"\n") and len(line) < 40 and (byte := file.read(1)):
        line += byte
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields) or not int(fields[1]):
        raise InputError(
            f"{path}: not word2vec's binary format, which begins with the numbers of words and of "
            "their dimensions; files of text end in .txt or .vec"
        )
    return int(fields[0]), checked_size(path, int(fields[1]))


def _read_binary(path: Path | str, wanted: Callable[[str], bool]) -> Iterator[Row]:
    with BinaryFile(path) as file:
        count, size = _announced(path, file)
        buffer, place = b"", 0
        for number in range(count):
            while (end := buffer.find(b" ", place)) < 0 or len(buffer) <= end + 4 * size:
                if (len(buffer) if end < 0 else end) > place + LONGEST_WORD:
                    raise InputError(
                        f"{path}: word {number + 1:,} is longer than {LONGEST_WORD:,} bytes; is "
                        "the file damaged?"
                    )
                more = file.read(CHUNK)
                if not more:
                    raise InputError(
                        f"{path}: truncated after {number:,} of {count:,} words; get it again"
                    )
                buffer, place = buffer[place:] + more, 0
            # some writers end a vector with a line break
            word = buffer[place:end].lstrip(b"\n").decode(errors="replace")
            if wanted(word):
                yield word, np.frombuffer(buffer, "<f4", size, end + 1).astype(np.float32)
            place = end + 1 + 4 * size


def _text_size(path: Path | str) -> int:
    line = next((line for _, line in read_lines(path)), "")
    fields = line.split()
    if (announced := header(fields)) is not None:
        size = announced[1]
    else:  # the word may have spaces, or be a number
        size = len(list(takewhile(_is_number, reversed(fields[1:]))))
    if not size:
        raise InputError(f"{path}: the first line has no word with numbers behind it")
    return checked_size(path, size)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _read_text(path: Path | str, wanted: Callable[[str], bool]) -> Iterator[Row]:
    size = _text_size(path)
    for number, line in read_lines(path):
        word, _, rest = line.rstrip().replace("\t", " ").partition(" ")
        if not wanted(word):
            continue
        values = rest.split()
        if number == 1 and len(values) == 1 != size:  # the header, whose number is a word
            continue
        try:
            vector = np.array(values, dtype=np.float32)
        except ValueError as error:
            if len(values) > size:  # a word with spaces, as in GloVe's 840B file
                continue
            raise InputError(f"{path}:{number}: not a number ({error})") from error
        if len(vector) != size:
            raise InputError(
                f"{path}:{number}: {len(vector)} numbers, where the first line has {size}"
            )
        yield word, vector
