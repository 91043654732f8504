"""Tells what is in a corpus, and which configuration it suits."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gile_lightning.commands.languages import MULTILINGUAL
from gile_lightning.common.console import show
from gile_lightning.common.errors import InputError
from gile_lightning.data.document_data_module import DocumentDataModule
from gile_lightning.data.formats.skipped import told
from gile_lightning.data.inspection import inspect
from gile_lightning.data.language_name import stemmer_of
from gile_lightning.data.near_duplicates import NEAR
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.tracking.page import render

CHECK = "check.json"
PAGE = "check.html"

_CUT = 0.1  # share of documents, from which on their length is worth a word
_REPEATED = 0.01
_LARGE = 30_000  # training documents; docs/best.md, Many documents


def check(data: TextDataModule, output: Path | None) -> dict[str, Any]:
    """Print what is in a corpus, language by language, and what it recommends.

    Args:
        data: the corpus, encoded and set up.
        output: the folder that gets the same as JSON and as a page; None for no file.

    Returns:
        The figures of `inspect` in ``corpus``, by language, and ``recommended``: what to set, and
        why.
    """
    corpus = {name: _inspected(data.only(name), name) for name in data.names}
    advice = [
        {"set": key, "why": f"{why} (so it is here)" if _is_set(data, key) else why}
        for key, why in recommendations(data, corpus)
    ]
    by_part = {name: list(lines(figures)) for name, figures in corpus.items()}
    for name, rows in by_part.items():
        show("\n".join([f"{name}:", *(f"  {key:<28}{value}" for key, value in rows)]))
    width = max(len(item["set"]) for item in advice)
    show("\n".join(["recommended:", *(f"  {x['set']:<{width}}  {x['why']}" for x in advice)]))
    found = {"corpus": corpus, "recommended": advice}
    show(**found)
    if output is not None:
        output = output.expanduser()
        output.mkdir(parents=True, exist_ok=True)
        (output / CHECK).write_text(json.dumps(found, indent=1, ensure_ascii=False), "utf-8")
        page = render("check.html", title="What is in the corpus", advice=advice, corpus=by_part)
        (output / PAGE).write_text(page, encoding="utf-8")
        show(f"written: {output / CHECK}, {output / PAGE}", output=output)
    return found


def _is_set(data: TextDataModule, advice: str) -> bool:
    """Whether a corpus has the value that a piece of advice names."""
    option, _, value = advice.partition(" ")
    key = option.removeprefix("--data.")
    places = (data, getattr(data, "settings", None))
    return any(str(getattr(place, key, None)) == value for place in places if key != option)


def _inspected(data: TextDataModule, language: str) -> dict[str, Any]:
    if not isinstance(data, DocumentDataModule):
        raise InputError(f"{type(data).__name__} reads no documents that can be checked")
    return inspect(data, stemmer_of(language))


def lines(figures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the figures of a corpus as titles and texts for the console."""
    labels, words = figures["labels"], figures["words_per_document"]
    per_label, documents = figures["documents_per_label"], figures["documents"]
    total = sum(documents.values())
    yield "documents", "  ".join(f"{split} {n:,}" for split, n in documents.items())
    unused = labels["known"] - labels["seen"] - labels["unseen"]
    yield (
        "labels",
        f"seen {labels['seen']:,}  unseen {labels['unseen']:,}  left out or in no document "
        f"{max(0, unused):,}",
    )
    yield "labels without description", _share(labels["undescribed"], labels["known"])
    yield "labels per document", _spread(figures["labels_per_document"])
    yield (
        "documents per seen label",
        f"{_spread(per_label)}; {_share(per_label['one'], labels['seen'])} have one",
    )
    yield "words per document", f"{_spread(words)}; {_share(words['cut'], total)} are cut"
    for title, counts in figures["mentions"].items():
        if counts["pairs"]:
            named = _share(counts["name"], counts["pairs"])
            either = _share(counts["name_or_synonym"], counts["pairs"])
            which = "labels named in the text" if title == "all" else "  of the unseen ones"
            yield which, f"{named}; by name or synonym {either}"
    for split, found in figures["repeated"].items():
        if documents.get(split):
            example = "".join(f"; first {x['id']}, near {x['of']}" for x in found["first"][:1])
            yield (
                f"{split} as in training",
                f"equal {_share(found['equal'], documents[split])}; near "
                f"{_share(found['near'], documents[split])}{example}",
            )
    for reason, case in figures["left_out"].items():
        yield "left out", told(reason, case)
    for warning in figures["warnings"]:
        yield "warning", warning.removeprefix("warning: ")


def recommendations(
    data: TextDataModule, corpus: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Yield what to set for a corpus, and why; the rules are those of docs/best.md."""
    likely = [
        figures["likely_language"] for figures in corpus.values() if figures["likely_language"]
    ]
    foreign = any(stemmer_of(name) != "english" for name in (*corpus, *likely))
    if hasattr(data, "language"):  # languages of a corpus of several have names of their own
        for language in likely:
            yield f"--data.language {language}", "what the most frequent words tell"
    if foreign:
        yield "--config best_scratch", "learns all from the corpus"
        why = "the other one to compare; all-MiniLM-L6-v2 knows English alone"
        yield f"--config best --data.pretrained {MULTILINGUAL}", why
    else:
        yield "--config best", "the best on real texts; best_scratch without pretrained weights"
    largest = max(figures["documents"].get("train", 0) for figures in corpus.values())
    if largest >= _LARGE:
        why = "trains word vectors too; compare it with the above"
        yield "--config best_scratch --config large", why
    known, undescribed = (
        sum(figures["labels"][key] for figures in corpus.values())
        for key in ("known", "undescribed")
    )
    if undescribed < known:
        yield "--data.label_text name_description", "as in both files; either may tell a label"
    if 0 < undescribed < known:
        yield "--data.undescribed_labels name", f"keeps {undescribed:,} labels without description"
    documents: dict[str, int] = {}
    repeated: dict[str, int] = {}
    cut = 0
    for figures in corpus.values():
        cut += figures["words_per_document"]["cut"]
        for split, count in figures["documents"].items():
            documents[split] = documents.get(split, 0) + count
        for split, found in figures["repeated"].items():
            repeated[split] = repeated.get(split, 0) + found["equal"] + found["near"]
    if cut > _CUT * sum(documents.values()):
        yield "--data.max_document_words 5000", f"{_share(cut, sum(documents.values()))} are cut"
    if not any(figures["labels"]["unseen"] for figures in corpus.values()):
        why = "no document has an unseen label; this measures how labels are ranked that come later"
        yield "--data.held_out_labels 0.1", why
    for split, count in repeated.items():
        if count > _REPEATED * documents.get(split, 0):
            yield (
                "texts that repeat in one split",
                f"{split} documents that share {NEAR:.0%} or more of their runs of words with a "
                f"training document, and flatter the figures: {count:,}",
            )


def _share(count: int, of: int) -> str:
    return f"{count:,} of {of:,} ({count / of if of else 0:.1%})"


def _spread(figures: Mapping[str, float]) -> str:
    return (
        f"mean {figures['mean']:.1f}, median {figures['median']:g}, at most {figures['largest']:,}"
    )
