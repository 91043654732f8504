"""What is in a corpus, told before any training."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import Stemmer
from numpy.typing import NDArray

from gile_lightning.data.document import Document
from gile_lightning.data.document_data_module import DocumentDataModule
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.near_duplicates import EarlierTexts, Repeated
from gile_lightning.data.summary import warnings
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

SHOWN = 3  # near-duplicates that are named


def inspect(data: DocumentDataModule, stemmer: str | None) -> dict[str, Any]:
    """Return figures on a corpus as plain values; it is read once more.

    The keys are ``documents`` per split; ``labels`` (seen, unseen, those without a description);
    ``labels_per_document``; ``documents_per_label`` of seen labels in training;
    ``words_per_document``; ``mentions``, the pairs of a document and one of its labels, and in how
    many the name, or the name or a synonym, stands in the document, for all and for unseen labels;
    ``repeated``, the validation and test documents that are equal or near to a training document;
    ``left_out``; ``warnings``; and ``likely_language``, if it is another than the corpus says.

    Args:
        data: the corpus, encoded and set up.
        stemmer: the language of a Snowball stemmer, which takes endings off words before names are
            looked for; None compares words as they are.
    """
    task = data.tasks[data.language]
    labels = task.labels
    splits, assigned = _encoded(data)
    mentions, repeats = _Mentions(labels, task.tokenizer, stemmer), _Repeats()
    lengths: list[int] = []
    read: set[str] = set()
    for document in data.changed_documents():
        if document.id not in assigned or document.id in read:
            continue
        pieces = [task.tokenizer.words(piece) for piece in document.pieces]
        words = [word for piece in pieces for word in piece]
        if not words or not any(label in labels.ids for label in document.labels):
            continue  # of the documents with one id, encoding has taken another one
        read.add(document.id)
        lengths.append(len(words))
        mentions.add(pieces, assigned[document.id])
        repeats.add(document, splits[document.id], words)
    limit = task.tokenizer.max_document_words
    known, undescribed = set(data.label_texts(Skipped())), data.undescribed()
    return {
        "documents": data.meta["counts"]["documents"],
        "labels": {
            "seen": labels.seen,
            "unseen": len(labels) - labels.seen,
            "known": len(known | undescribed),
            "undescribed": len(undescribed),
            "uris": sum(map(bool, labels.uris)),
        },
        "labels_per_document": _summary([len(ids) for ids in assigned.values()]),
        "documents_per_label": {
            **_summary(labels.frequencies[: labels.seen]),
            "one": sum(n == 1 for n in labels.frequencies),
        },
        "words_per_document": {**_summary(lengths), "cut": sum(n > limit for n in lengths)},
        "mentions": {
            "all": mentions.counts(mentions.found),
            "unseen": mentions.counts(mentions.found[:, labels.seen :]),
        },
        "repeated": repeats.result(),
        "left_out": data.meta["skipped"],
        "warnings": [*warnings(data.meta)],
        "likely_language": data.meta.get("likely_language", {}).get("likely"),
    }


def _encoded(data: DocumentDataModule) -> tuple[dict[str, str], dict[str, list[int]]]:
    """Return the split and the label ids of every document, by its id."""
    splits: dict[str, str] = {}
    assigned: dict[str, list[int]] = {}
    for split, documents in data.corpus.splits.items():
        own = data.size(data.language, split)  # without texts of labels
        documents = documents.select(range(own))
        rows = documents.select_columns(["id", "labels"]).with_format("arrow")[:]
        ids = rows.column("id").to_pylist()
        assigned |= zip(ids, rows.column("labels").to_pylist(), strict=True)
        splits |= dict.fromkeys(ids, split)
    return splits, assigned


def _summary(numbers: Sequence[int]) -> dict[str, float]:
    if not numbers:
        return {"mean": 0.0, "median": 0.0, "largest": 0}
    return {
        "mean": float(np.mean(numbers)),
        "median": float(np.median(numbers)),
        "largest": max(numbers),
    }


class _Mentions:
    """Counts the labels of documents whose names stand in them, within one piece of the text.

    Attributes:
        found: by label, its documents; those that have the name; those that have the name or a
            synonym: [3, K].
    """

    def __init__(self, labels: LabelSet, tokenizer: Tokenizer, stemmer: str | None) -> None:
        self.labels, self.tokenizer = labels, tokenizer
        self.stemmer = None if stemmer is None else Stemmer.Stemmer(stemmer)
        self.found: NDArray[np.int64] = np.zeros((3, len(labels)), np.int64)
        self._phrases: dict[int, list[str]] = {}  # the name and the synonyms of a label

    def add(self, pieces: Iterable[list[str]], labels: Iterable[int]) -> None:
        """Count the labels of a document that has these words."""
        text = "\n".join(map(self._stemmed, pieces))
        for label in labels:
            if label not in self._phrases:
                names = (self.labels.names[label], *self.labels.synonyms[label])
                self._phrases[label] = [self._stemmed(self.tokenizer.words(x)) for x in names]
            name, *others = (phrase.strip() and phrase in text for phrase in self._phrases[label])
            self.found[:, label] += (1, bool(name), any((name, *others)))

    def counts(self, found: NDArray[np.int64]) -> dict[str, int]:
        """Return the sums over labels, by what was counted."""
        names = ("pairs", "name", "name_or_synonym")
        return dict(zip(names, found.sum(1).tolist(), strict=True))

    def _stemmed(self, words: list[str]) -> str:
        """Join the stems of words, with spaces around each."""
        stems = words if self.stemmer is None else self.stemmer.stemWords(words)
        return f" {' '.join(stems)} "


class _Repeats:
    """Compares validation and test documents with training documents, once all are known."""

    def __init__(self) -> None:
        self._training = EarlierTexts()
        self._others: dict[str, list[tuple[str, list[str]]]] = {"validation": [], "test": []}

    def add(self, document: Document, split: str, words: list[str]) -> None:
        if split == "train":
            self._training.add(document.id, words)
        else:
            self._others[split].append((document.id, words))

    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for split, documents in self._others.items():
            repeats = (self._training.repeated_by(*document) for document in documents)
            repeated: list[Repeated] = [repeat for repeat in repeats if repeat is not None]
            equal = sum(repeat.resemblance == 1 for repeat in repeated)
            found[split] = {
                "equal": equal,
                "near": len(repeated) - equal,
                "first": [repeat._asdict() for repeat in repeated[:SHOWN]],
            }
        return found
