"""Forms of names, and invented names and numbers."""

from gile_lightning.builtin import lexicon

RARE_SCALE = 60.0


def lower(name: str) -> str:
    """The form of a heading inside a sentence: lower case but for acronyms and initials."""
    return " ".join(w if w.isupper() else w.lower() for w in name.split(" "))


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def rare_rank(u: float) -> int:
    """An open-ended rank for u in (0, 1]: few names come often and new ones never run out."""
    return min(int(RARE_SCALE * (1.0 / (u * u * u) - 1.0)), 10**9)


def _syllables(rank: int, number: int) -> tuple[str, int]:
    """The word made of `number` syllables for a rank, and what is left of the rank."""
    # A multiplicative hash, or names of neighbouring ranks would look alike.
    rest = (rank * 2654435761 + 97) % 2**32
    text = ""
    for _ in range(number):
        rest, onset = divmod(rest, len(lexicon.ONSETS))
        rest, nucleus = divmod(rest, len(lexicon.NUCLEI))
        text += lexicon.ONSETS[onset] + lexicon.NUCLEI[nucleus]
    return text, rest


def gene_name(rank: int) -> str:
    """An invented gene: "Tran4", "BREK-2"."""
    text, rest = _syllables(rank, 1)
    rest, coda = divmod(rest, len(lexicon.CODAS))
    text += lexicon.CODAS[coda]
    number = rest % 40
    return f"{text.upper()}-{number}" if rest % 3 == 0 else f"{text.capitalize()}{number or ''}"


def compound_name(rank: int) -> str:
    """An invented drug: "velostat"."""
    text, rest = _syllables(rank, 2)
    return text + lexicon.DRUG_ENDINGS[rest % len(lexicon.DRUG_ENDINGS)]


def strain_name(rank: int) -> str:
    """An invented strain: "Kl-417"."""
    text, rest = _syllables(rank, 1)
    return f"{text.capitalize()}-{rest % 1000}"


def place_name(rank: int) -> str:
    """An invented place: "Valdora"."""
    text, rest = _syllables(rank, 2)
    return capital(text) + lexicon.PLACE_ENDINGS[rest % len(lexicon.PLACE_ENDINGS)]


def _interval(i: int) -> str:
    middle, spread = 10 + i % 37, 2 + i % 7
    return f"{middle / 10}, 95% CI {(middle - spread) / 10}-{(middle + 2 * spread) / 10}"


def number_pools() -> dict[str, tuple[str, ...]]:
    """Numbers as abstracts give them, by the kind of slot that they fill."""
    months = tuple(f"{i} {u}" for i in (6, 12, 3, 24, 2, 18, 5, 8) for u in ("months", "weeks"))
    years = tuple(f"{i} years" for i in range(2, 12))
    days = tuple(f"{i} days" for i in range(2, 30))
    return {
        "n": tuple(str(12 + 31 * i % 87) for i in range(87)),
        "m": tuple(str(i) for i in range(100, 480)),
        "age": tuple(str(i) for i in range(40, 89)),
        "dose": tuple(str(i) for i in (5, 10, 20, 50, 100, 2, 40, 25, 200, 15, 250)),
        "pct": tuple(f"{i}%" for i in range(4, 96)) + tuple(f"{i / 10}%" for i in range(11, 990)),
        "num": tuple(f"{i / 10}" for i in range(11, 480)),
        "r": tuple(f"0.{i}" for i in range(21, 94)),
        "p": ("p < 0.001", "p < 0.05", "P < 0.01", *(f"p = 0.{i:03d}" for i in range(1, 400))),
        "ci": tuple(_interval(i) for i in range(250)),
        "time": months + years + days,
    }
