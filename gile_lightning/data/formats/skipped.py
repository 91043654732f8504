"""Counts of what a corpus leaves out."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gile_lightning.data.formats.unknown_labels import REMEDIES
from gile_lightning.data.tokenizing import likely_language, unspaced

NAMED = 5  # labels that a line names
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


LOST = ("documents without a described label", "documents without a word")


def told(reason: str, case: Mapping[str, Any]) -> str:
    """Write one of the reasons of `Skipped.state`: how many, why, and the first of them."""
    first = f" (first: {case['first'].replace(_PACKAGE, '')})" if case["first"] else ""
    return f"{case['count']:,} {reason}{first}"


def describe(meta: Mapping[str, Any]) -> str:
    """Describe an encoded corpus in a few lines: sizes, labels and what was left out."""
    counts = meta["counts"]
    lines = [
        f"{'  '.join(f'{split} {n:,}' for split, n in counts['documents'].items())} documents",
        f"{counts['seen_labels']:,} labels seen in training, {counts['unseen_labels']:,} unseen, "
        f"{counts['words']:,} words in the vocabulary",
    ]
    if (used := counts.get("training_documents_used")) is not None:
        every = counts["documents"]["train"]
        message = f"training on {used:,} of {every:,} documents (train_share)"
        lines.insert(1, f"{message}; the labels of all of them count as seen")
    if texts := counts.get("label_texts"):
        lines.append(f"training on the texts of {texts:,} labels too (label_documents)")
    if known := counts.get("known"):
        lines.append(
            "documents that the model knows, by their split there: "
            + "  ".join(f"{split} {n:,}" for split, n in known.items())
        )
    if replayed := counts.get("replayed"):
        lines.append(
            "replayed of the earlier run: " + "  ".join(f"{k} {n:,}" for k, n in replayed.items())
        )
    if (held_out := counts.get("held_out_labels")) is not None:
        named = meta.get("first_held_out", [])  # which corpora of earlier versions do not name
        names = examples(named, held_out)
        lines.append(f"held out of training, so not learned: {held_out:,} labels{names}")
    for reason, case in meta["skipped"].items():
        lines.append(f"left out: {told(reason, case)}")
    return "\n".join([*lines, *warnings(meta)])


def warnings(meta: Mapping[str, Any]) -> Iterator[str]:
    """Yield what seems wrong with a corpus, by its metadata."""
    kept = sum(meta["counts"]["documents"].values())
    lost = sum(meta["skipped"].get(reason, {"count": 0})["count"] for reason in LOST)
    if lost > kept:
        yield f"warning: {lost:,} documents were left out, more than the {kept:,} kept"
    for reason, remedy in REMEDIES.items():
        if case := meta["skipped"].get(reason):
            yield f"warning: {case['count']:,} assignments of labels {remedy}"
    if runs := meta.get("unspaced"):
        yield unspaced.warning(runs)
    if language := meta.get("likely_language"):
        yield likely_language.warning(language)


def examples(names: Sequence[str], number: int) -> str:
    """Return the first of a number of labels, in brackets; nothing if no name is known."""
    more = ", ..." if len(names[:NAMED]) < number else ""
    return f" ({', '.join(names[:NAMED])}{more})" if names else ""
