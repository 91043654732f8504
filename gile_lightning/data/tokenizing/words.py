"""From text to words, by Python's standard library alone.

`gile_lightning.export --format onnx` copies this file beside a model, so it imports nothing else of
this package.
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cache

NUMBER = "NUM"

_NUMBER = re.compile(r"\d+(?:[.,٫٬]\d+)*")  # with the separators of Arabic too
# words (hyphenated ones stay whole), clitics ('s), single punctuation marks in ASCII, newlines
_ASCII_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_ASCII_TOKEN = re.compile(r"[a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*|'[a-zA-Z0-9]+|[^a-zA-Z0-9\s]|\n")
_ELISION = re.compile(r"([^\W\d_][\u0300-\u036f]*)['‘’](?=[^\W\d_])")  # between letters
_INITIAL = re.compile(r"(?<=[A-Z])\s+(?=\.)")  # of a name, with a space before its full stop
_ODD_SPACE = re.compile(r"[^\S\x00-\x7f]")
_EDGES = re.compile(r"([\W_]*)(.*?)([\W_]*)$", re.DOTALL)
_PUNCTUATION = str.maketrans(
    dict.fromkeys("‐‑−", "-")
    | dict.fromkeys("‒–—", " - ")
    | dict.fromkeys("‘’‚", "'")
    | dict.fromkeys("“”„", '"')
    | {"\u00ad": ""}  # soft hyphen
)
# what has no width: joiners, marks of direction, byte order marks, selectors of a variant
_INVISIBLE = [0x34F, 0x61C, *range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)]
_INVISIBLE += [0xFEFF, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
# the space without a width parts words, as in Thai and Khmer
_PLAIN = _PUNCTUATION | dict.fromkeys(_INVISIBLE, "") | {0x200B: " "}


def part_elisions(text: str) -> str:
    """Put a space after each apostrophe between letters, as if it had been written there.

    >>> part_elisions("dell'acqua d’Italia, '90")
    "dell' acqua d' Italia, '90"
    """
    return _ELISION.sub(r"\1' ", text)


def tokenize(text: str) -> list[str]:
    """Split ``text`` into lower-case tokens, every number replaced by ``NUM``.

    Typographic quotes and dashes become plain ones first. Punctuation marks are tokens of their
    own, as with the Moses tokenizer (paper, section 4.1: "tokenization, number replacements").
    Combining marks belong to their word, which is in Unicode's normal form C.

    >>> tokenize("IL-6 rose by 4.5 % (P<0.01).")
    ['il-NUM', 'rose', 'by', 'NUM', '%', '(', 'p', '<', 'NUM', ')', '.']
    """
    if text.isascii():
        return tokenize_lines(text.replace("\n", " "))
    text = _plain(text)
    return [text] if text.isalpha() else _tokens(_NUMBER.sub(NUMBER, text))


def tokenize_lines(text: str) -> list[str]:
    r"""Split an ASCII text as `tokenize` does, but keep every newline.

    >>> tokenize_lines("4.5 cells\nB.")
    ['NUM', 'cells', '\n', 'b', '.']
    """
    return _ASCII_TOKEN.findall(_ASCII_NUMBER.sub(NUMBER, text.lower()))


def known_words(text: str, known: Container[str], elision: bool = False) -> Iterator[str]:
    """Find the known words of a text: first whole between spaces, else without marks around them.

    With ``elision`` an apostrophe between letters parts words that are not known whole.

    >>> list(known_words("The U.S. (and l'Europe), 2004!", {"the", "u.s.", "l", "(", ",", "2004"}))
    ['the', 'u.s.', '(', 'l', ',', '2004']
    """
    for chunk in text.split():
        lower = chunk.lower()
        if chunk in known:
            yield chunk
        elif lower in known:
            yield lower
        elif lower.isascii():
            yield from _parts(lower, known, elision)
        elif (plain := _plain(chunk)) in known:
            yield plain
        else:
            yield from _parts(_composed(lower.translate(_PUNCTUATION)), known, elision)


def _parts(text: str, known: Container[str], elision: bool) -> Iterator[str]:
    """Find the known words of a text that is none itself."""
    head, word, tail = _EDGES.match(text).groups()  # type: ignore[union-attr]
    if marks := _mark().match(tail):  # at the end of the word
        word, tail = word + marks[0], tail[marks.end() :]
    inner: Iterable[str] = [word]
    if not _found(word, known):
        parted = part_elisions(word) if elision else word
        inner = _tokens(word) if parted == word else known_words(parted, known)
    yield from filter(None, (_found(token, known) for token in (*head, *inner, *tail)))


def _found(word: str, known: Container[str]) -> str:
    """Return a known word, or what it is without invisible characters, and without marks."""
    if word in known or word.isascii():
        return word if word in known else ""
    visible = word.translate(_PLAIN)
    bare = _mark().sub("", visible)
    return next((form for form in (visible, bare) if form in known), "")


def _plain(text: str) -> str:
    """Return a text in lower case and normal form C, with plain punctuation, all of it visible."""
    return _composed(text.translate(_PLAIN).lower())


def _composed(text: str) -> str:
    # the lower case of the Turkish İ is an i with a second dot
    return unicodedata.normalize("NFC", text).replace("i\u0307", "i")


def _tokens(text: str) -> list[str]:
    return _token(max(text, default="") > "\uffff").findall(text)


@cache
def _marks() -> tuple[str, str]:
    """Combining marks of 16 bits, and longer ones; no class of the standard library has them."""
    codes = map(chr, [*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)])
    marks = [c for c in codes if unicodedata.category(c).startswith("M")]
    short = "".join(c for c in marks if c <= "\uffff")
    return short, "".join(marks[len(short) :])


@cache
def _mark() -> re.Pattern[str]:
    return re.compile(f"[{''.join(_marks())}]+")


@cache
def _token(long: bool) -> re.Pattern[str]:
    """Words with their marks, clitics and punctuation marks, as in ASCII.

    Args:
        long: whether a text has characters of more than 16 bits, which `re` looks up one by one.
    """
    marks = "".join(rf"|[{some}]+[^\W_]*" for some in _marks()[: 1 + long])
    word = rf"[^\W_]+(?:{marks[1:]})*"
    return re.compile(rf"{word}(?:-{word})*|'{word}|[^\w\s]|_")


def segment(language: str, text: str) -> list[str]:
    """Split a text into sentences by the rules of a language.

    The library fails where another space than that of ASCII stands between a capital letter and a
    full stop, so such a space is replaced. Each character keeps its place.
    """
    import sentencex

    plain = _INITIAL.sub(lambda found: _ODD_SPACE.sub(" ", found[0]), text)
    sentences: list[str] = sentencex.segment(language, plain)
    return sentences


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
    elision: bool = False,
) -> list[list[str]]:
    """Split a text into sentences of words, as an exported model reads it.

    Args:
        text: the text.
        known: the words of the vocabulary.
        known_words_only: whether all others are dropped.
        language: by whose rules sentences end; None for one sentence.
        limits: how much to keep, as in `truncate`.
        elision: whether an apostrophe between letters parts words; see `part_elisions`.
    """
    pieces: Iterable[str] = [text]
    if language is not None:
        pieces = segment(language, text)
    if known_words_only:
        split = (list(known_words(x, known, elision)) for x in pieces)
    else:
        split = (tokenize(part_elisions(x) if elision else x) for x in pieces)
    return truncate(split, *limits)  # type: ignore[arg-type]  # the first limit is a number
