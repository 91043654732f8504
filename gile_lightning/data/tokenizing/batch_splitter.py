"""The texts of many documents split into words at once, by Arrow.

A text is the words of its parts between spaces, one after the other: no number, token or word
reaches over a space, and neither does the one rule of lower case that looks at its neighbours
(that of the final sigma). So Arrow splits the texts at spaces and numbers the parts, and Python
tokenizes each different part once: those of ASCII together, as lines of one text.
"""

from array import array
from collections import defaultdict
from collections.abc import Sequence
from itertools import count, groupby, islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.data.tokenizing.words import tokenize_lines

Pieces = Sequence[str | list[str]]
Part = str | tuple[str, ...]  # of a text, or a word that the corpus gives as a word

NONE = np.iinfo(np.int32).max  # no limit


class BatchSplitter:
    """Splits texts into words, and numbers these in the order in which they come.

    The numbers hold for all texts that one splitter has split.

    Args:
        tokenizer: what is a word, and how many of a text are kept.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.words: defaultdict[str, int] = defaultdict(count().__next__)
        self._numbers: defaultdict[Part, int] = defaultdict(count().__next__)
        self._ids = array("i")  # of the words of every part, and -1 after each part

    def split(self, documents: Sequence[Pieces]) -> tuple[pa.ListArray, pa.ListArray]:
        """Split the pieces of documents as `Tokenizer.split` does.

        Returns:
            For each document the numbers of its words, and the lengths of its sentences in words;
            both empty where there is no word.
        """
        segments = self._tokenizer.segments
        sentences = [[row for piece in pieces for row in segments(piece)] for pieces in documents]
        rows = [row for of_document in sentences for row in of_document]
        parts, ends = self._parts(rows)
        ids = np.frombuffer(self._ids, np.int32)
        starts = np.concatenate([[0], np.flatnonzero(ids < 0) + 1]).astype(np.int32)
        lengths = (np.diff(starts) - 1)[parts]
        words = _gathered(ids, starts[parts], lengths)
        ends = np.concatenate([[0], lengths.cumsum()])[ends]
        owners = np.repeat(np.arange(len(documents)), list(map(len, sentences)))
        kept, lengths = self._cut(owners, np.diff(ends))
        owners = owners[kept]
        if lengths.sum() < len(words):
            words = _gathered(words, ends[kept], lengths)
        return (
            _lists(owners, lengths, words, len(documents)),
            _lists(owners, np.ones_like(owners), lengths, len(documents)),
        )

    def _parts(self, rows: Sequence[str | list[str]]) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """Return the numbers of the parts of all rows, and where each row ends, from 0."""
        if not all(isinstance(row, str) for row in rows):
            lists = [row.split() if isinstance(row, str) else [(w,) for w in row] for row in rows]
            flat = [part for row in lists for part in row]
            return self._numbered(flat), np.cumsum([0, *map(len, lists)])
        import pyarrow.compute as pc  # which takes a tenth of a second

        split = pc.ascii_split_whitespace(pa.array(rows, pa.string()))
        found = split.values.dictionary_encode()
        numbers = self._numbered(found.dictionary.to_pylist())
        return numbers[found.indices.to_numpy()], split.offsets.to_numpy()

    def _numbered(self, parts: Sequence[Part]) -> NDArray[np.int32]:
        """Return the numbers of parts; the words of new ones are found and numbered."""
        before, number = len(self._numbers), self.words.__getitem__
        numbers = np.array([*map(self._numbers.__getitem__, parts)], np.int32)
        for are_lines, new in groupby(islice(self._numbers, before, None), self._is_line):
            if are_lines:  # a call for all of them costs less than one for each
                text = "\n".join([*new, ""])  # type: ignore[list-item]  # they are texts
                words = tokenize_lines(self._tokenizer.parted(text))
                self._ids.fromlist([-1 if word == "\n" else number(word) for word in words])
                continue
            for part in new:
                words = self._tokenizer.words(part if isinstance(part, str) else [*part])
                self._ids.fromlist([*map(number, words), -1])
        return numbers

    def _is_line(self, part: Part) -> bool:
        return isinstance(part, str) and part.isascii() and not self._tokenizer.known_words_only

    def _cut(
        self, owners: NDArray[np.intp], lengths: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which sentences are kept, and how many words of each.

        Args:
            owners: the document of every sentence.
            lengths: of the sentences in words.
        """
        limits, kept = self._tokenizer, np.flatnonzero(lengths)
        lengths = np.minimum(lengths[kept], limits.max_sentence_words or NONE)
        first = np.searchsorted(owners[kept], owners[kept])  # sentence of the document
        before = lengths.cumsum() - lengths
        room = np.clip(limits.max_document_words - (before - before[first]), 0, lengths)
        room[np.arange(len(kept)) - first >= (limits.max_sentences or NONE)] = 0
        return kept[room > 0], room[room > 0]


def _gathered(
    values: NDArray[np.int32], starts: NDArray[Any], lengths: NDArray[Any]
) -> NDArray[np.int32]:
    """Return the values of some ranges, one after the other."""
    before = lengths.cumsum(dtype=np.int32) - lengths
    places = np.repeat((starts - before).astype(np.int32), lengths)
    places += np.arange(len(places), dtype=np.int32)
    return values.take(places)


def _lists(
    owners: NDArray[np.intp], lengths: NDArray[np.intp], values: NDArray[Any], number: int
) -> pa.ListArray:
    """Return the values of each of a number of documents, which own runs of these lengths."""
    counts = np.bincount(owners, lengths, number).astype(np.int32)
    offsets = np.concatenate([[0], counts.cumsum()]).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(offsets), pa.array(values.astype(np.int32, copy=False))
    )
