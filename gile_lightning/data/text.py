"""From text to word ids: tokens, the vocabulary and truncation."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gile_lightning.errors import InputError, positive

UNKNOWN = "UNK"
NUMBER = "NUM"

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# words (hyphenated ones stay whole), clitics ('s), single punctuation marks
_TOKEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*|'[^\W_]+|[^\w\s]|_")
_PUNCTUATION = str.maketrans(
    dict.fromkeys("‐‑−", "-")
    | dict.fromkeys("‒–—", " - ")
    | dict.fromkeys("‘’‚", "'")
    | dict.fromkeys("“”„", '"')
    | {"\u00ad": ""}  # soft hyphen
)


def tokenize(text: str) -> list[str]:
    """Split ``text`` into lower-case tokens, every number replaced by ``NUM``.

    Typographic quotes and dashes become plain ones first. Punctuation marks are tokens of their
    own, as with the Moses tokenizer (paper, section 4.1: "tokenization, number replacements").

    >>> tokenize("IL-6 rose by 4.5 % (P<0.01).")
    ['il-NUM', 'rose', 'by', 'NUM', '%', '(', 'p', '<', 'NUM', ')', '.']
    """
    plain = text if text.isascii() else text.translate(_PUNCTUATION)
    return _TOKEN.findall(_NUMBER.sub(NUMBER, plain.lower()))


def build_vocabulary(counts: Counter[str], min_count: int) -> list[str]:
    """List the words seen at least ``min_count`` times, frequent ones first, ``UNK`` last."""
    positive(min_count=min_count)
    kept = [(word, n) for word, n in counts.items() if n >= min_count and word != UNKNOWN]
    kept.sort(key=lambda item: (-item[1], item[0]))
    return [word for word, _ in kept] + [UNKNOWN]


@dataclass(frozen=True)
class TextEncoder:
    """Turns texts into word ids with a fixed vocabulary; travels with every checkpoint.

    Attributes:
        vocabulary: the words in id order; the last one stands for every unknown word.
        max_document_words: words of a document that are kept (paper: 300).
        max_label_words: words of a label description that are kept (paper: 50).
    """

    vocabulary: Sequence[str]
    max_document_words: int = 300
    max_label_words: int = 50
    _ids: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        positive(max_document_words=self.max_document_words, max_label_words=self.max_label_words)
        if not self.vocabulary or self.vocabulary[-1] != UNKNOWN:
            raise InputError(f"the vocabulary must end with {UNKNOWN!r}")
        self._ids.update({word: i for i, word in enumerate(self.vocabulary)})

    def word_ids(self, text: str, max_words: int) -> list[int]:
        """Return the ids of the first ``max_words`` words of ``text``."""
        unknown = len(self.vocabulary) - 1
        get = self._ids.get
        return [get(word, unknown) for word in tokenize(text)[:max_words]]

    def documents(self, texts: Iterable[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Encode documents as flat word ids [N] and words per document [B]."""
        return _flat([self.word_ids(text, self.max_document_words) for text in texts])

    def labels(self, texts: Iterable[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Encode label descriptions as flat word ids [N] and words per label [K]."""
        return _flat([self.word_ids(text, self.max_label_words) for text in texts])


def _flat(rows: list[list[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    flat = np.fromiter(
        (word for row in rows for word in row), dtype=np.int32, count=int(lengths.sum())
    )
    return flat, lengths
