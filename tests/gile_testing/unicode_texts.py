"""Random texts of characters that are hard to split into words."""

import random
from collections.abc import Iterator

# spaces of all kinds; dashes and quotes that become plain; letters whose lower case is longer or
# depends on their neighbours; digits, numbers and marks of other scripts; characters beyond 16 bits
HARD = [
    *" \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000\u200b\ufeff\u180e",
    *"‐‑−‒–—‘’‚“”„\u00ad-'\"_.,·:;!?%()",
    *"ΣσςΑαİıIißẞǅﬁéÅåK\u0345\u0307\u0301\u200d",
    *"0123456789٣४７²½Ⅷ①𝟙",
    *"细胞ひらกัмир😀𐐀🇩\U000e0041\x00\x7f",
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
