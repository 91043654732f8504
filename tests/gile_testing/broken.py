"""Broken inputs, drawn from a seed: sound files with parts cut, doubled, swapped and replaced."""

import gzip
import json
from random import Random

ODD = [
    *("", "\0", "\ufeff", "\u2028", "\x85", "\ud800", "e\u0301", "😀", "\x1b[31m", "=cmd|'a'!A1"),
    *("null", "NaN", "-Infinity", "1e999", "-0", "9" * 5000, "true", "[]", "{}", '""', "\\ud800"),
    *("[" * 3000, '{"a":' * 3000, "<a>" * 3000, "<!ENTITY a 'b'>", "&a;", "]]>", "<!--"),
    "x" * 20000,
    *("\n", "\r\n", "\t", ",", ":", "{", "}", '"', "- ", "²", "٣"),
    *("!!python/object:os.system x", "&a [*a]", "*a"),
    *("../../x", "CON", "*NEWRECORD", "MH = ", "MS = ", "MN = ", " = ", "|"),
]
VALUES = [
    *(None, True, 0, -1, 2**70, 1.5, float("nan"), float("inf"), "", " ", "\0", "\ud800", "x", []),
    *({}, [None], [[]], [{}], [1], ["", None], {"": None}, {"a": {"b": []}}, "9" * 5000, [["x"]]),
]


def broken(random: Random, sound: bytes) -> bytes:
    """Break a file, in one to four places."""
    content = sound
    if random.random() < 0.5:
        content = _other_values(random, content)
    for _ in range(random.choice([0, 1, 1, 1, 2, 4])):
        content = _edited(random, content)
    return content


def _other_values(random: Random, content: bytes) -> bytes:
    """Replace values of JSON, where it is JSON or lines of it."""
    lines = content.decode(errors="surrogateescape").split("\n")
    for number, line in enumerate(lines):
        text = line.strip().rstrip(",")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        changed = _changed(random, value)
        lines[number] = json.dumps(changed, ensure_ascii=random.random() < 0.5) + line[len(text) :]
    return "\n".join(lines).encode(errors="surrogatepass")


def _changed(random: Random, value):
    if random.random() < 0.15:
        return random.choice(VALUES)
    if isinstance(value, dict):
        kept = {k: _changed(random, x) for k, x in value.items() if random.random() > 0.05}
        if random.random() < 0.05:
            kept[random.choice(["", "a.b", "\0", "id", "keys"])] = random.choice(VALUES)
        return kept
    if isinstance(value, list):
        return [_changed(random, x) for x in value if random.random() > 0.05]
    return value


def _edited(random: Random, content: bytes) -> bytes:
    place, end = sorted(random.randrange(len(content) + 1) for _ in range(2))
    end = min(end, place + random.choice([1, 8, 200]))
    odd = random.choice(ODD).encode(errors="surrogatepass")
    return random.choice(
        [
            lambda: content[:place],
            lambda: content[:place] + content[end:],
            lambda: content[:place] + odd + content[place:],
            lambda: content[:place] + odd + content[end:],
            lambda: content[:end] + content[place:],
            lambda: content[:place] + random.randbytes(3) + content[end:],
            lambda: content[:place] + bytes(reversed(content[place:end])) + content[end:],
            lambda: gzip.compress(content)[: random.randrange(20, 200)],
            lambda: content.decode(errors="replace").encode("utf-16"),
        ]
    )()
