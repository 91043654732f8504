"""What a model predicts for some test documents, and which labels it takes for which."""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gile_lightning.data.loading.ragged import (
    RaggedBatch,
    gather_segments,
    segment_ids,
    segment_starts,
)
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.metrics.ranking import select
from gile_lightning.network.encoders.segments import document_words

SHOWN = 5  # predictions of a document, at least


class Predicted(NamedTuple):
    """A label among the first of a document: its score, as `predict` gives it, and what it is."""

    name: str
    score: float
    unseen: bool
    hit: bool


class Gold(NamedTuple):
    """A label that a document has, and whether it is among the first predictions."""

    name: str
    unseen: bool
    hit: bool


@dataclass(frozen=True)
class Example:
    """A test document: its first words, its labels, and the model's first max(5, |gold|)."""

    language: str
    text: str
    gold: list[Gold]
    predicted: list[Predicted]


@dataclass(frozen=True)
class Confusion:
    """In ``count`` of the documents with the label ``gold``, ``predicted`` stood in its place."""

    language: str
    gold: str
    predicted: str
    count: int
    documents: int

    @property
    def share(self) -> float:
        """The part of the documents with the label ``gold``."""
        return self.count / self.documents


class _Document(NamedTuple):
    words: Tensor
    longer: bool
    gold: list[int]
    best: list[int]
    scores: list[float]


class TestSample:
    """Keeps what the first test documents of each language were scored, and were meant to have.

    It looks at scores that the test makes anyway, so it costs next to nothing and, on several
    processes, needs nobody: each has documents of its own, and those of the first are the sample.

    Args:
        documents: so many of each language.
        words: of a document's beginning, to show.

    Attributes:
        seconds: spent here.
    """

    __test__ = False  # no test, whatever pytest makes of the name

    def __init__(self, documents: int = 1000, words: int = 60) -> None:
        self.documents = documents
        self.words = words
        self.seconds = 0.0
        self._kept: dict[str, list[_Document]] = defaultdict(list)
        self._pairs: dict[str, list[Tensor]] = defaultdict(list)
        self._gold: dict[str, list[Tensor]] = defaultdict(list)

    def update(self, name: str, logits: Tensor, documents: RaggedBatch) -> None:
        """Add a batch of a language, as far as there is room.

        Args:
            name: the language.
            logits: [B, K] of all labels, or of those seen in training, which have the first ids.
            documents: B of them, with all their labels.
        """
        room = self.documents - len(self._kept[name])
        if room <= 0 or not len(logits):
            return
        start = time.perf_counter()
        batch = next(documents.split(room))
        logits = logits[: len(batch.label_counts)]
        longest = int(batch.label_counts.max())
        scores, best = logits.topk(min(max(SHOWN, longest), logits.shape[1]))
        scores, best = scores.sigmoid().cpu(), best.cpu()
        words, sentence_lengths, document_lengths = (part.cpu() for part in batch[:3])
        label_ids, label_counts = batch.label_ids.cpu(), batch.label_counts.cpu()
        batch = RaggedBatch(words, sentence_lengths, document_lengths, label_ids, label_counts)
        gold, counts = select(batch.label_ids, batch.label_counts, 0, logits.shape[1])
        self._pairs[name].append(confused(best, gold, counts))
        self._gold[name].append(gold)
        lengths = document_words(batch.sentence_lengths, batch.document_lengths).tolist()
        for words, labels, ids, values in zip(
            torch.split(batch.words, lengths),
            torch.split(batch.label_ids, batch.label_counts.tolist()),
            best,
            scores,
            strict=True,
        ):
            kept = max(SHOWN, len(labels))
            found = ids[:kept].tolist(), values[:kept].tolist()
            beginning = words[: self.words].clone()  # not a view that keeps the batch alive
            longer = len(words) > self.words
            self._kept[name].append(_Document(beginning, longer, labels.tolist(), *found))
        self.seconds += time.perf_counter() - start

    def examples(self, tasks: Mapping[str, Task], count: int = 20) -> list[Example]:
        """Return examples from all over the sample, as many of each language.

        Args:
            tasks: the vocabularies and label sets that were scored.
            count: of examples; each language has one at least.
        """
        start = time.perf_counter()
        kept = {name: documents for name, documents in self._kept.items() if documents}
        each = max(1, count // max(1, len(kept)))
        found = [
            _example(name, documents[i * len(documents) // min(each, len(documents))], tasks)
            for name, documents in kept.items()
            for i in range(min(each, len(documents)))
        ]
        self.seconds += time.perf_counter() - start
        return found

    def confusions(self, tasks: Mapping[str, Task], count: int = 20) -> list[Confusion]:
        """Return the pairs of labels that are confused in most documents, at most ``count``.

        A pair counts once in a document whose label is not among its first |gold| predictions
        while the other label wrongly is. Labels that the model cannot score are left out.
        """
        start = time.perf_counter()
        found = []
        for name, parts in self._pairs.items():
            names = tasks[name].labels.names
            pairs, counts = torch.unique(torch.cat(parts, dim=1), dim=1, return_counts=True)
            documents = Counter(torch.cat(self._gold[name]).tolist())
            found += [
                Confusion(name, names[gold], names[predicted], number, documents[gold])
                for (gold, predicted), number in zip(
                    pairs.t().tolist(), counts.tolist(), strict=True
                )
            ]
        # the most frequent first; of these, the larger part of the label's documents
        found.sort(key=lambda pair: (-pair.count, -pair.share, pair.gold, pair.predicted))
        self.seconds += time.perf_counter() - start
        return found[:count]


def confused(best: Tensor, label_ids: Tensor, label_counts: Tensor) -> Tensor:
    """Pair every label that a document misses with every label predicted in place of one.

    A document with n labels is given its n best ones. As many of these are wrong as labels are
    missed, and every missed one is paired with every wrong one.

    Args:
        best: every document's labels, best first: [B, k], k at least the largest count.
        label_ids: the labels of document 0, then of document 1, ...: [P].
        label_counts: how many each document has: [B].

    Returns:
        The pairs, missed label and wrong one: [2, C].
    """
    labels = 1 + max(int(ids.max()) if ids.numel() else 0 for ids in (best, label_ids))
    rows = torch.arange(len(best)).unsqueeze(1)
    given = (rows * labels + best)[torch.arange(best.shape[1]) < label_counts.unsqueeze(1)]
    owned = segment_ids(label_counts) * labels + label_ids
    missed, wrong = owned[~torch.isin(owned, given)], given[~torch.isin(given, owned)]
    lengths = wrong.div(labels, rounding_mode="floor").bincount(minlength=len(best))
    documents = missed.div(labels, rounding_mode="floor")
    # a document's wrong labels, once for each that it misses
    others = gather_segments(wrong, segment_starts(lengths), lengths, documents)
    return torch.stack([missed.repeat_interleave(lengths[documents]), others]) % labels


def _example(name: str, document: _Document, tasks: Mapping[str, Task]) -> Example:
    task = tasks[name]
    labels: LabelSet = task.labels
    words = " ".join(task.tokenizer.vocabulary[i] for i in document.words.tolist())
    gold, best = set(document.gold), set(document.best)
    return Example(
        name,
        f"{words} …" if document.longer else words,
        [Gold(labels.names[i], i >= labels.seen, i in best) for i in document.gold],
        [
            Predicted(labels.names[i], score, i >= labels.seen, i in gold)
            for i, score in zip(document.best, document.scores, strict=True)
        ],
    )
