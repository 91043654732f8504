"""Pretrained word vectors of a language: the authors' pickles and the usual text formats."""

from array import array
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.data.formats.lines import read_lines
from gile_lightning.data.formats.vector_files import checked_size, header
from gile_lightning.data.formats.vector_pickle import read_pickle

PICKLES = (".pkl.gz", ".pkl")
TEXTS = (".txt.gz", ".txt", ".vec.gz", ".vec")


class WordVectors(NamedTuple):
    """Words and their vectors, in the order of the file.

    Encoded documents refer to words by their position in the file, so a repeated word is kept.

    Attributes:
        words: V words.
        vectors: [V, d], finite.
    """

    words: list[str]
    vectors: NDArray[np.float32]


def find_word_vectors(path: Path | str, language: str) -> Path:
    """Find the file of word vectors of a language.

    Args:
        path: the file itself; or a folder that has it as ``language`` with a known ending.
        language: the name of the language.

    Raises:
        InputError: there is none, or more than one.
    """
    directory = Path(path)
    if not directory.exists():
        raise InputError(f"{path}: no such file or folder of word vectors (--data.word_vectors)")
    if not directory.is_dir():
        return directory
    names = [language + ending for ending in (*PICKLES, *TEXTS)]
    found = [directory / name for name in names if (directory / name).is_file()]
    if len(found) > 1:
        raise InputError(
            f"{directory}: several files of word vectors for {language!r} "
            f"({', '.join(path.name for path in found)}); keep one, or name the file"
        )
    if not found:
        files = sorted(path.name for path in directory.iterdir() if path.is_file())
        there = ", ".join(files[:20]) + (", ..." if len(files) > 20 else "")
        raise InputError(
            f"{directory}: no word vectors for {language!r}; looked for {', '.join(names)}; "
            f"the folder has {there or 'no file'}"
            + nearest(language, (name.split(".")[0] for name in files))
        )
    (only,) = found
    return only


def read_word_vectors(path: Path | str) -> WordVectors:
    """Read words and vectors, in the format that the ending of the file name says.

    * ``.pkl``, ``.pkl.gz``: a pickle of a pair, the list of words and the list of their NumPy
      vectors (or one array [V, d]), as the authors of Pappas & Henderson (2019, TACL) share them;
      see `read_pickle`.
    * ``.txt``, ``.vec``, ``.txt.gz``, ``.vec.gz``: a line per word, the word and its d numbers
      separated by spaces or tabs, with or without a first line "V d" (word2vec, GloVe, fastText,
      multiCCA).

    Raises:
        InputError: the file is missing, damaged, empty or in another format; words and vectors
            differ in number, vectors in size; a number is not finite.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.name.endswith(PICKLES):
        words, vectors = read_pickle(path)
    elif path.name.endswith(TEXTS):
        words, vectors = _read_text(path)
    else:
        endings = ", ".join((*PICKLES, *TEXTS))
        raise InputError(f"{path}: the name of a file of word vectors ends in one of {endings}")
    if not vectors.size:
        raise InputError(f"{path}: no word vectors in the file")
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        first = words[int(finite.argmin())]
        raise InputError(
            f"{path}: {int((~finite).sum()):,} of {len(words):,} vectors have numbers that are "
            f"not finite in 32 bits; the first is that of {first!r}"
        )
    return WordVectors(words, vectors)


def _read_text(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    words: list[str] = []
    numbers = array("f")
    announced = size = None
    for number, line in read_lines(path):
        line = line.rstrip().replace("\t", " ")
        if not line:
            continue
        if size is None:
            fields = line.split(" ")
            if (found := header(fields)) is not None:
                announced, size = found[0], checked_size(path, found[1])
                continue
            size = len(fields) - 1
        # from the right, as a few words of some files have spaces
        word, *values = line.rsplit(" ", size)
        try:
            if len(values) != size or (announced is None and _is_number(word.rpartition(" "))):
                raise ValueError
            numbers.extend(map(float, values))
        except ValueError as error:
            raise InputError(
                f"{path}:{number}: expected a word and {size} numbers with a space before each, "
                f"not {line[:60]!r}"
            ) from error
        words.append(word)
    if announced is not None and announced != len(words):
        raise InputError(
            f"{path}: the first line announces {announced:,} words, but {len(words):,} follow"
        )
    vectors = np.frombuffer(numbers, np.float32) if words else np.empty(0, np.float32)
    return words, vectors.reshape(len(words), -1 if words else 0)


def _is_number(parts: tuple[str, str, str]) -> bool:
    """Return whether the last word of several, as `str.rpartition` splits them, is a number."""
    try:
        float(parts[2])
    except ValueError:
        return False
    return bool(parts[1])
