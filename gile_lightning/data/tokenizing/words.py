"""From text to words, by Python's standard library alone.

`gile_lightning.export --format onnx` copies this file beside a model, so it imports nothing else of
this package.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence

NUMBER = "NUM"

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# words (hyphenated ones stay whole), clitics ('s), single punctuation marks
_TOKEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*|'[^\W_]+|[^\w\s]|_")
# the same for ASCII, whose classes of characters are looked up faster
_ASCII_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_ASCII_TOKEN = re.compile(r"[a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*|'[a-zA-Z0-9]+|[^a-zA-Z0-9\s]")
_EDGES = re.compile(r"([\W_]*)(.*?)([\W_]*)$", re.DOTALL)
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
    if text.isascii():
        if text.isalpha():  # a third of the different parts of abstracts
            return [text.lower()]
        return _ASCII_TOKEN.findall(_ASCII_NUMBER.sub(NUMBER, text.lower()))
    return _TOKEN.findall(_NUMBER.sub(NUMBER, text.translate(_PUNCTUATION).lower()))


def known_words(text: str, known: Container[str]) -> Iterator[str]:
    """Find the known words of a text: first whole between spaces, else without marks around them.

    >>> list(known_words("The U.S. (and l'Europe), 2004!", {"the", "u.s.", "l", "(", ",", "2004"}))
    ['the', 'u.s.', '(', 'l', ',', '2004']
    """
    for chunk in text.split():
        lower = chunk.lower()
        if chunk in known:
            yield chunk
        elif lower in known:
            yield lower
        else:
            plain = lower if lower.isascii() else lower.translate(_PUNCTUATION)
            head, word, tail = _EDGES.match(plain).groups()  # type: ignore[union-attr]
            inner = [word] if word in known else _TOKEN.findall(word)
            yield from (token for token in (*head, *inner, *tail) if token in known)


def truncate(
    sentences: Iterable[list[str]],
    max_words: int,
    max_sentences: int | None = None,
    max_sentence_words: int | None = None,
) -> list[list[str]]:
    """Keep the first words of a document, without sentences that have none.

    Args:
        sentences: words of each sentence; no more are read than needed.
        max_words: of the document.
        max_sentences: of those with a word; None for all.
        max_sentence_words: of each sentence; None for all.
    """
    kept: list[list[str]] = []
    room = max_words
    for words in sentences:
        words = words[: room if max_sentence_words is None else min(room, max_sentence_words)]
        if not words:
            continue
        kept.append(words)
        room -= len(words)
        if not room or len(kept) == max_sentences:
            break
    return kept


def read(
    text: str,
    known: Container[str],
    known_words_only: bool,
    language: str | None,
    limits: Sequence[int | None],
) -> list[list[str]]:
    """Split a text into sentences of words, as an exported model reads it.

    Args:
        text: the text.
        known: the words of the vocabulary.
        known_words_only: whether all others are dropped.
        language: by whose rules sentences end; None for one sentence.
        limits: how much to keep, as in `truncate`.
    """
    pieces: Iterable[str] = [text]
    if language is not None:
        import sentencex

        pieces = sentencex.segment(language, text)
    split = (list(known_words(x, known)) if known_words_only else tokenize(x) for x in pieces)
    return truncate(split, *limits)  # type: ignore[arg-type]  # the first limit is a number
