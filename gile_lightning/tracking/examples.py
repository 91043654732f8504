"""Examples of a test: predictions of some documents, and labels that are confused."""

import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import gather_segments, segment_ids, segment_starts
from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.explaining import Explanation
from gile_lightning.metrics.ranking import select
from gile_lightning.network.encoders.segments import document_words

EXPLAINED = 3  # documents with a right best label, and as many with a wrong one
SHOWN = 5  # the least number of predictions shown for a document


class Predicted(NamedTuple):
    """One of a document's best labels, with its probability. A hit is a gold label."""

    name: str
    score: float
    unseen: bool
    hit: bool


class Gold(NamedTuple):
    """A label that a document has. A hit is among the predictions that are shown."""

    name: str
    unseen: bool
    hit: bool


@dataclass(frozen=True)
class Example:
    """A test document: its first words, its labels, and the best max(5, |gold|) labels."""

    language: str
    text: str
    gold: list[Gold]
    predicted: list[Predicted]


@dataclass(frozen=True)
class Confusion:
    """``count`` of the ``documents`` with the label ``gold`` got ``predicted`` in its place."""

    language: str
    gold: str
    predicted: str
    count: int
    documents: int

    @property
    def share(self) -> float:
        """The share of the documents with the label ``gold``."""
        return self.count / self.documents


class Tested(NamedTuple):
    """A test document to explain.

    ``best`` is its best label, ``missed`` has the best gold label if that is another one, ``gold``
    all its labels.
    """

    language: str
    text: Texts
    best: int
    missed: list[int]
    gold: list[int]


class _Document(NamedTuple):
    words: Tensor
    longer: bool
    gold: list[int]
    best: list[int]
    scores: list[float]


class TestSample:
    """Keeps the best labels and the gold labels of the first test documents of each language.

    It observes scores that the test computes anyway, so it costs next to nothing. On several
    processes the sample is from the documents of the first one.

    Args:
        documents: the number of documents to keep, of each language.
        words: the number of words to show of each document.
        explain: explains a document while the test goes on; None for no explanations.

    Attributes:
        seconds: time spent here.
        explanations: of the first three documents whose best label is right (True), and of the
            first three whose best label is wrong.
    """

    __test__ = False  # not for pytest

    def __init__(
        self,
        documents: int = 1000,
        words: int = 60,
        explain: Callable[[Tested], Explanation] | None = None,
    ) -> None:
        self.documents = documents
        self.words = words
        self.seconds = 0.0
        self.explain = explain
        self.explanations: dict[bool, list[Explanation]] = {True: [], False: []}
        self._kept: dict[str, list[_Document]] = defaultdict(list)
        self._pairs: dict[str, list[Tensor]] = defaultdict(list)
        self._gold: dict[str, list[Tensor]] = defaultdict(list)

    def update(
        self, name: str, logits: Tensor, documents: RaggedBatch, log_odds: Tensor | None = None
    ) -> None:
        """Add documents of a batch until the sample is full.

        Args:
            name: the language.
            logits: [B, K] of all labels, or of the seen ones, which have the first ids.
            documents: B documents with all their labels.
            log_odds: [B, K], whose sigmoids are shown; by default the logits.
        """
        room = self.documents - len(self._kept[name])
        if room <= 0 or not len(logits):
            return
        start = time.perf_counter()
        batch = next(documents.split(room))
        logits = logits[: len(batch.label_counts)]
        longest = int(batch.label_counts.max())
        best = logits.topk(min(max(SHOWN, longest), logits.shape[1])).indices
        log_odds = logits if log_odds is None else log_odds[: len(logits)]
        scores, best = log_odds.gather(1, best).sigmoid().cpu(), best.cpu()
        words, sentence_lengths, document_lengths = (tensor.cpu() for tensor in batch[:3])
        label_ids, label_counts = batch.label_ids.cpu(), batch.label_counts.cpu()
        batch = batch._replace(
            words=words,
            sentence_lengths=sentence_lengths,
            document_lengths=document_lengths,
            label_ids=label_ids,
            label_counts=label_counts,
        )
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
            beginning = words[: self.words].clone()  # a view would keep the batch in memory
            longer = len(words) > self.words
            self._kept[name].append(_Document(beginning, longer, labels.tolist(), *found))
        if logits.shape[1]:
            self._explain(name, batch, best[:, 0], logits)
        self.seconds += time.perf_counter() - start

    def _explain(self, name: str, batch: RaggedBatch, best: Tensor, logits: Tensor) -> None:
        """Have documents explained, until there are enough."""
        golds = torch.split(batch.label_ids, batch.label_counts.tolist())
        for i, (label, gold) in enumerate(zip(best.tolist(), golds, strict=True)):
            kept = self.explanations[label in gold]
            if self.explain is None or not len(gold) or len(kept) == EXPLAINED:
                continue
            text = next(itertools.islice(batch.split(1), i, None)).texts
            scored = [] if label in gold else gold[gold < logits.shape[1]].tolist()
            missed = [max(scored, key=lambda j: float(logits[i, j]))] if scored else []
            kept.append(self.explain(Tested(name, text, label, missed, gold.tolist())))

    def examples(self, tasks: Mapping[str, Task], count: int = 20) -> list[Example]:
        """Return examples spread over the sample, the same number for each language.

        Args:
            tasks: the tasks that were scored, by language.
            count: the number of examples; each language has at least one.
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
        """Return the ``count`` pairs of labels that are confused in most documents.

        A pair counts once in a document if its first label is a gold label that is not among the
        |gold| best ones, and its second label wrongly is. Labels that the model cannot score are
        left out.
        """
        start = time.perf_counter()
        found = []
        for name, found_pairs in self._pairs.items():
            names = tasks[name].labels.names
            pairs, counts = torch.unique(torch.cat(found_pairs, dim=1), dim=1, return_counts=True)
            documents = Counter(torch.cat(self._gold[name]).tolist())
            found += [
                Confusion(name, names[gold], names[predicted], number, documents[gold])
                for (gold, predicted), number in zip(
                    pairs.t().tolist(), counts.tolist(), strict=True
                )
            ]
        # the most frequent first, on ties the larger share
        found.sort(key=lambda pair: (-pair.count, -pair.share, pair.gold, pair.predicted))
        self.seconds += time.perf_counter() - start
        return found[:count]


def confused(best: Tensor, label_ids: Tensor, label_counts: Tensor) -> Tensor:
    """Pair every missed label of a document with every wrong one.

    For a document with n labels the n best ones are predicted. Its missed labels are gold and not
    predicted, its wrong ones predicted and not gold; there are as many of each.

    Args:
        best: [B, k] labels of every document, best first; k is at least the largest count.
        label_ids: [P] gold labels of document 0, then of document 1, ...
        label_counts: [B] gold labels per document.

    Returns:
        [2, C] the pairs: the missed label, and the wrong one.
    """
    labels = 1 + max(int(ids.max()) if ids.numel() else 0 for ids in (best, label_ids))
    rows = torch.arange(len(best)).unsqueeze(1)
    predicted = (rows * labels + best)[torch.arange(best.shape[1]) < label_counts.unsqueeze(1)]
    gold = segment_ids(label_counts) * labels + label_ids
    missed, wrong = gold[~torch.isin(gold, predicted)], predicted[~torch.isin(predicted, gold)]
    lengths = wrong.div(labels, rounding_mode="floor").bincount(minlength=len(best))
    documents = missed.div(labels, rounding_mode="floor")
    # the wrong labels of the document of each missed label
    others = gather_segments(wrong, segment_starts(lengths), lengths, documents)
    return torch.stack([missed.repeat_interleave(lengths[documents]), others]) % labels


def _example(name: str, document: _Document, tasks: Mapping[str, Task]) -> Example:
    task = tasks[name]
    labels: LabelSet = task.labels
    known = [*task.tokenizer.vocabulary, *task.tokenizer.further]
    words = " ".join(known[i] for i in document.words.tolist())
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
