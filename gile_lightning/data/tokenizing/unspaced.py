"""Texts of languages that put no spaces between words, and were not split into words."""

import re
from collections.abc import Mapping
from typing import Any

SHARE = 0.3  # of the characters, from which on a corpus is taken for such texts

_HAN_KANA = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SOUTH_EAST = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
# longer than single words are: of these scripts, and of any
_RUN = re.compile(rf"[{_HAN_KANA}]{{9}}|[{_SOUTH_EAST}]{{21}}|.{{41}}")


def unspaced(counts: Mapping[str, int]) -> dict[str, Any] | None:
    """Tell whether texts seem to be runs of words without spaces between them.

    Args:
        counts: how often each word occurs.

    Returns:
        The ``share`` of characters in words that must be several, and the most frequent such word
        as ``example``; None if the share is below `SHARE`.
    """
    runs = {word: n for word, n in counts.items() if _RUN.search(word)}
    total = sum(len(word) * n for word, n in counts.items())
    share = sum(len(word) * n for word, n in runs.items()) / max(1, total)
    if share < SHARE:
        return None
    return {"share": share, "example": max(runs, key=lambda word: (runs[word], word))[:30]}


def warning(found: Mapping[str, Any]) -> str:
    """Say what to do about what `unspaced` has found."""
    return (
        f"warning: {found['share']:.0%} of the texts are runs without spaces, such as "
        f"{found['example']!r}, each of which counts as one word; split the texts (and those of "
        "labels) into words, or see docs/languages.md, No spaces between words"
    )
