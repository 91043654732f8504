"""From text to word ids: sentences, tokens, the vocabulary and truncation."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.pretrained.backends import Backend, check_backend
from gile_lightning.data.pretrained.subwords import Kind, Reading
from gile_lightning.data.tokenizing.words import (
    known_words,
    part_elisions,
    segment,
    tokenize,
    truncate,
)

UNKNOWN = "UNK"

_CODE = re.compile(r"[a-z]{2,3}")


def build_vocabulary(counts: Counter[str], min_count: int) -> list[str]:
    """List the words seen at least ``min_count`` times, frequent ones first, ``UNK`` last."""
    positive(min_count=min_count)
    kept = [(word, n) for word, n in counts.items() if n >= min_count and word != UNKNOWN]
    kept.sort(key=lambda item: (-item[1], item[0]))
    return [word for word, _ in kept] + [UNKNOWN]


def unambiguous(words: Iterable[str]) -> list[str]:
    """Give every word of a foreign list a name of its own, so that names and ids correspond.

    A word that is repeated, contains a space or is `UNKNOWN` can never be found in a text; its
    number is appended to it.
    """
    names: dict[str, None] = {}
    for i, word in enumerate(words):
        plain = "".join(word.split())
        if word != plain or word in ("", UNKNOWN):
            word = f"{plain}\ufffd{i}"
        while word in names:
            word = f"{word}\ufffd{i}"
        names[word] = None
    return list(names)


@dataclass(frozen=True)
class Tokenizer:
    """Turns texts into word ids with a fixed vocabulary; travels with every checkpoint.

    Attributes:
        vocabulary: the words in id order; the last one stands for every unknown word.
        max_document_words: words of a document that are kept (paper: 300 for BioASQ).
        max_label_words: words of a label description that are kept (paper: 50 for BioASQ).
        max_sentences: sentences of a document that are kept (paper: 30 for DW); None for all.
        max_sentence_words: words of a sentence that are kept (paper: 30 for DW); None for all.
        sentences: ISO 639-1 code of the language whose rules split a text into sentences; None
            leaves the pieces of a corpus as they are.
        known_words_only: the vocabulary is that of a file of word vectors. Words are looked up
            there as they are, numbers too, and unknown ones are dropped (paper, DW) instead of
            becoming `UNKNOWN`.
        further: words outside the vocabulary that have ids all the same, after that of `UNKNOWN`;
            see `extended`.
        pretrained: a pretrained model, as `find_model` takes it, for which texts are split into
            subwords too; None for none.
        pretrained_backend: what runs that model; see `Backend`.
        max_subwords: subwords of a text that the pretrained model reads at once; see `Reading`.
        max_windows: how many pieces of that length it reads of a longer text.
        document_prompt: what it reads before every document; see `Reading`.
        label_prompt: what it reads before every label.
        language: of the texts, by name or code.
        elision: whether an apostrophe between letters parts words, as in "dell'acqua"; see
            `elides`.
    """

    vocabulary: Sequence[str]
    max_document_words: int = 300
    max_label_words: int = 50
    max_sentences: int | None = None
    max_sentence_words: int | None = None
    sentences: str | None = None
    known_words_only: bool = False
    pretrained: str | None = None
    pretrained_backend: Backend = "torch"
    max_subwords: int | None = None
    max_windows: int = 1
    document_prompt: str | None = None
    label_prompt: str | None = None
    language: str = "english"
    elision: bool = False
    further: tuple[str, ...] = ()
    _ids: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        limits = {name: getattr(self, name) for name in _LIMITS}
        positive(**{name: limit for name, limit in limits.items() if limit is not None})
        if not self.vocabulary or self.vocabulary[-1] != UNKNOWN:
            raise InputError(f"the vocabulary must end with {UNKNOWN!r}")
        if self.sentences is not None and not _CODE.fullmatch(self.sentences):
            raise InputError(
                f"sentences is {self.sentences!r}; give the ISO 639-1 code of a language, such as "
                "en, or null"
            )
        if self.pretrained is not None:
            check_backend(self.pretrained_backend)
        words = self.vocabulary[:-1] if self.known_words_only else self.vocabulary
        self._ids.update({word: i for i, word in enumerate(words)})
        self._ids.update({word: i for i, word in enumerate(self.further, len(self.vocabulary))})

    def settings(self) -> dict[str, Any]:
        """Return everything but the vocabulary and further words, as plain values."""
        others = {"vocabulary", "further", "_ids"}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in others}

    @property
    def reading(self) -> Reading | None:
        """How the pretrained model reads texts, if there is one."""
        if self.pretrained is None:
            return None
        prompts = self.document_prompt, self.label_prompt
        return Reading(self.pretrained, self.max_subwords, self.max_windows, *prompts)

    def extended(self, words: Iterable[str]) -> "Tokenizer":
        """Return this tokenizer with ids for further words, which tell these from each other.

        Their ids follow that of `UNKNOWN`. So ``ids.clamp(max=V - 1)`` gives the ids of this
        tokenizer, unless it drops unknown words. Further words are no part of its settings.
        """
        present = {*self.vocabulary, *self.further}
        new = tuple(word for word in dict.fromkeys(words) if word not in present)
        return replace(self, further=self.further + new)

    def words(self, text: str | list[str]) -> list[str]:
        """Split a text into words; a list of words is left as it is."""
        if isinstance(text, list):
            return [w for w in text if w in self._ids] if self.known_words_only else text
        if not self.known_words_only:
            return self.tokens(text)
        return list(known_words(text, self._ids, self.elision))

    def tokens(self, text: str) -> list[str]:
        """Split a text into words, and drop none."""
        return tokenize(self.parted(text))

    def parted(self, text: str) -> str:
        """Return a text whose words are parted at apostrophes, where the language does so."""
        return part_elisions(text) if self.elision else text

    def split(self, pieces: Sequence[str | list[str]] | Sequence[str]) -> list[list[str]]:
        """Split the pieces of a document into sentences of words, truncated."""
        sentences = ((self.words(s) for s in self.segments(piece)) for piece in pieces)
        limits = self.max_document_words, self.max_sentences, self.max_sentence_words
        return truncate((words for piece in sentences for words in piece), *limits)

    def segments(self, piece: str | list[str]) -> Iterable[str | list[str]]:
        """Split a piece of a document into sentences; without their language it stays whole."""
        if self.sentences is None or isinstance(piece, list):
            return [piece]
        return segment(self.sentences, piece)

    def word_ids(self, words: Iterable[str]) -> list[int]:
        """Return the ids of words."""
        unknown = len(self.vocabulary) - 1
        return [self._ids.get(word, unknown) for word in words]

    def documents(
        self, texts: Iterable[str | Sequence[str]]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Encode documents as flat ids [N], words per sentence [S] and sentences each [B].

        A document is one text, or several pieces such as title and text.
        """
        documents = [self.split([text] if isinstance(text, str) else text) for text in texts]
        sentences = [self.word_ids(sentence) for document in documents for sentence in document]
        return *_flat(sentences), np.array([len(d) for d in documents], dtype=np.int64)

    def labels(self, texts: Iterable[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Encode label descriptions as flat word ids [N] and words per label [K]."""
        return _flat([self.word_ids(self.words(text)[: self.max_label_words]) for text in texts])

    def subwords(
        self, texts: Iterable[str | Sequence[str | list[str]]], kind: Kind = "document"
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]] | tuple[None, None]:
        """Encode texts for the pretrained model as flat subword ids [N] and their counts [B].

        Pieces of a text, and words of a piece, are joined by spaces. Without a pretrained model
        there are no subwords.

        Args:
            texts: the texts.
            kind: what they are, which decides on the prompt.
        """
        if self.reading is None:
            return None, None
        rows = self.reading.subwords([_joined(text) for text in texts], kind)
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        return np.concatenate([np.empty(0, np.int32), *rows]), counts


_LIMITS = (
    "max_document_words",
    "max_label_words",
    "max_sentences",
    "max_sentence_words",
    "max_subwords",
    "max_windows",
)


def _joined(text: str | Sequence[str | list[str]]) -> str:
    pieces = [text] if isinstance(text, str) else text
    return " ".join(piece if isinstance(piece, str) else " ".join(piece) for piece in pieces)


def _flat(rows: list[list[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    flat = np.fromiter(
        (word for row in rows for word in row), dtype=np.int32, count=int(lengths.sum())
    )
    return flat, lengths
