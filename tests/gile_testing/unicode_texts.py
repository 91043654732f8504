"""Random texts of characters that are hard to split into words, and their words by hand."""

import random
import unicodedata
from collections.abc import Iterator

# spaces of all kinds; dashes and quotes that become plain; letters whose lower case is longer or
# depends on their neighbours; digits, numbers and marks of other scripts; characters beyond 16 bits
HARD = [
    *" \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000\u200b\ufeff\u180e",
    *"‐‑−‒–—‘’‚“”„\u00ad-'\"_.,·:;!?%()",
    *"ΣσςΑαİıIißẞǅﬁéÅåK\u0345\u0307\u0301\u200d",
    *"0123456789٣४７²½Ⅷ①𝟙",
    *"细胞ひらกัмир😀𐐀🇩\U000e0041\x00\x7f",
    *"हिन्ीכתבּऱ한\u1100\u1161\u200c\u2060\ufe0f\u202e\u0338=٫٬\U00011127",
]
LETTERS = "abcXYZ"


def random_texts(number: int, seed: int = 0) -> Iterator[str]:
    """Yield texts of 0 to 30 characters: hard ones, plain ones, and any that Unicode has."""
    draw = random.Random(seed)
    for _ in range(number):
        kinds = draw.choice(["h", "hhl", "hll ", "hlla", "a", "l  h"])
        yield "".join(_character(draw, kind) for kind in draw.choices(kinds, k=draw.randint(0, 30)))


def _character(draw: random.Random, kind: str) -> str:
    if kind == "a":
        code = draw.randrange(0x110000 - 0x800)
        return chr(code if code < 0xD800 else code + 0x800)  # no half characters
    return draw.choice({"h": HARD, "l": LETTERS, " ": " "}[kind])


JOINERS = "\u00ad\u034f\u061c\u200c\u200d\u200e\u200f\ufeff"
PLAIN = dict.fromkeys("‐‑−", "-") | dict.fromkeys("‒–—", " - ") | {"\u200b": " "}
PLAIN |= dict.fromkeys("‘’‚", "'") | dict.fromkeys("“”„", '"')


def words_by_hand(text: str) -> list[str]:
    """Return the words of a text, found character by character."""
    text = "".join(PLAIN.get(c, "" if _invisible(c) else c) for c in text).lower()
    text = unicodedata.normalize("NFC", text).replace("i\u0307", "i")
    found: list[str] = []
    place = 0
    numbers = []  # where they begin and end
    while place < len(text):
        end = _number(text, place)
        numbers += [(place, end)] * (end > place)
        place = max(end, place + 1)
    for begin, end in reversed(numbers):
        text = text[:begin] + "NUM" + text[end:]
    place = 0
    while place < len(text):
        begin, place = place, place + 1
        if text[begin].isspace():
            continue
        letter = text[begin].isalnum()
        if letter or (text[begin] == "'" and _letter(text, place)):
            place = _run(text, place)
            while letter and text[place : place + 1] == "-" and _letter(text, place + 1):
                place = _run(text, place + 1)
        found.append(text[begin:place])
    return found


def _invisible(c: str) -> bool:
    others = 0x202A <= ord(c) < 0x202F or 0x2060 <= ord(c) < 0x2070
    return c in JOINERS or others or 0xFE00 <= ord(c) < 0xFE10 or 0xE0100 <= ord(c) < 0xE01F0


def _number(text: str, place: int) -> int:
    """Return where the number ends that begins here, or the place itself."""
    while True:
        end = place
        while end < len(text) and text[end].isdecimal():
            end += 1
        if end == place or text[end : end + 1] not in tuple(".,٫٬"):
            return end
        if not text[end + 1 : end + 2].isdecimal():
            return end
        place = end + 1


def _letter(text: str, place: int) -> bool:
    return text[place : place + 1].isalnum()


def _run(text: str, place: int) -> int:
    """Return where letters and their marks end."""
    while _letter(text, place) or unicodedata.category(text[place : place + 1] or " ")[0] == "M":
        place += 1
    return place
