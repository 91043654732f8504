"""Word vectors of 40 numbers that agree across the languages.

A concept's vector is its field's plus one of its own; a word's is its concept's plus noise of
the language and of the form. Function words and punctuation lie around one common centre.

Sums and squares are of whole numbers, so that no rounding depends on the machine.
"""

import gzip
import math
import os
import pickle
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gile_lightning.builtin.news.concepts import COMMON, FIELDS, concepts, lexicon

SIZE: int = 40

# Shares of the parts of a vector. Words of one field have a cosine of about 0.3; translations
# one of about 100 / (100 + 14 + 11) = 0.8.
_FIELD, _OWN = 54, 84
_LANGUAGE, _FORM = 37, 33
_CENTRE, _FUNCTION = 90, 44


class _Meanings(NamedTuple):
    concepts: NDArray[np.int64]  # [number of concepts, 40]
    functions: NDArray[np.int64]  # [number of function words and marks, 40]


def _draw(rows: int, rng: Random) -> NDArray[np.int64]:
    """Whole numbers [rows, 40] of nearly normal distribution: sums of four uniform bytes."""
    raw = np.frombuffer(rng.randbytes(rows * SIZE * 4), dtype=np.uint8)
    sums: NDArray[np.int64] = raw.reshape(4, rows, SIZE).sum(axis=0, dtype=np.int64)
    return 2 * sums - 4 * 255


@cache
def _meanings() -> _Meanings:
    rng = Random("meanings")
    fields, own = _draw(FIELDS + 1, rng), _draw(len(concepts()), rng)
    functions = _draw(len(lexicon("english").functions), rng)
    rows = fields[[concept.field for concept in concepts()]]
    return _Meanings(_FIELD * rows + _OWN * own, _CENTRE * fields[COMMON] + _FUNCTION * functions)


def _words(language: str) -> tuple[list[str], NDArray[np.int64]]:
    """Lower-case words and their vectors [words, 40] before scaling."""
    rng, meanings, words = Random(f"vectors {language}"), _meanings(), lexicon(language)
    places = [i for i, forms in enumerate(words.forms) for _ in forms]
    near = meanings.concepts + _LANGUAGE * _draw(len(meanings.concepts), rng)
    content = near[places] + _FORM * _draw(len(places), rng)
    functions = meanings.functions
    functions = functions + _LANGUAGE * _draw(len(functions), rng)
    names = [form.lower() for forms in words.forms for form in forms]
    return [*words.functions, *names], np.concatenate([functions, content])


def word_vectors(language: str) -> dict[str, NDArray[np.float32]]:
    """The vector [40] of every word of a language, of length 0.8 to 1."""
    words, rows = _words(language)
    rng = Random(f"lengths {language}")
    lengths = [0.8 + 0.2 * rng.random() for _ in words]
    squares = (rows * rows).sum(axis=1).tolist()
    scales = [length / math.sqrt(n) for length, n in zip(lengths, squares, strict=True)]
    vectors = (rows * np.array(scales)[:, None]).astype("<f4")
    return dict(zip(words, vectors, strict=True))


def write_vectors(path: Path, language: str, counts: Counter[str]) -> None:
    """Write the words of a language by falling count, in the authors' format.

    That is a gzipped pickle (protocol 2) of a list of words and a list of vectors.
    """
    vectors = word_vectors(language)
    words = sorted(vectors, key=lambda word: -counts[word])  # stable: ties as in the lexicon
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as raw, gzip.GzipFile("", "wb", 1, raw, mtime=0) as file:
        pickle.dump((words, [vectors[word] for word in words]), file, protocol=2)
    os.replace(part, path)
