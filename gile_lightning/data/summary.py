"""An encoded corpus in a few lines, and what seems wrong with it."""

from collections.abc import Iterator, Mapping
from typing import Any

from gile_lightning.data.formats.skipped import WITHOUT_LABEL, WITHOUT_WORD, examples, told
from gile_lightning.data.formats.unknown_labels import REMEDIES
from gile_lightning.data.tokenizing import likely_language, unspaced


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
        names = examples(meta.get("held_out", []), held_out)
        lines.append(f"held out of training, so not learned: {held_out:,} labels{names}")
    for reason, case in meta["skipped"].items():
        lines.append(f"left out: {told(reason, case)}")
    return "\n".join([*lines, *warnings(meta)])


def warnings(meta: Mapping[str, Any]) -> Iterator[str]:
    """Yield what seems wrong with a corpus, by its metadata."""
    kept = sum(meta["counts"]["documents"].values())
    cases = [meta["skipped"].get(reason) for reason in (WITHOUT_LABEL, WITHOUT_WORD)]
    lost = sum(case["count"] for case in cases if case)
    if lost > kept:
        yield f"warning: {lost:,} documents were left out, more than the {kept:,} kept"
    for reason, remedy in REMEDIES.items():
        if case := meta["skipped"].get(reason):
            yield f"warning: {case['count']:,} assignments of labels {remedy}"
    if runs := meta.get("unspaced"):
        yield unspaced.warning(runs)
    if language := meta.get("likely_language"):
        yield likely_language.warning(language)
