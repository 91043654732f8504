"""Counts of what a corpus leaves out."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NAMED = 5  # labels that a line names
WITHOUT_LABEL = "documents without a described label"
WITHOUT_WORD = "documents without a word"
_PACKAGE = f"{Path(__file__).parents[3]}{os.sep}"  # files in it are named from there


class Skipped:
    """Counts what is left out by reason, with the place of the first case of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def add(self, reason: str, where: str = "", count: int = 1) -> None:
        """Count ``count`` more cases of ``reason``; ``where`` names the file and line."""
        if count:
            self.counts[reason] += count
            if where:
                self.first.setdefault(reason, where)

    def state(self) -> dict[str, dict[str, Any]]:
        """Return ``{reason: {"count": n, "first": place}}``."""
        return {
            reason: {"count": count, "first": self.first.get(reason, "")}
            for reason, count in sorted(self.counts.items())
        }


def told(reason: str, case: Mapping[str, Any]) -> str:
    """Write one of the reasons of `Skipped.state`: how many, why, and the first of them."""
    first = f" (first: {case['first'].replace(_PACKAGE, '')})" if case["first"] else ""
    return f"{case['count']:,} {reason}{first}"


def examples(names: Sequence[str], number: int) -> str:
    """Return the first of a number of labels, in brackets; nothing if no name is known."""
    more = ", ..." if len(names[:NAMED]) < number else ""
    return f" ({', '.join(names[:NAMED])}{more})" if names else ""
