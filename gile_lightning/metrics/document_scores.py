"""The metrics of every single test document, for each set of candidate labels."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.metrics.document_metric import DocumentMetric
from gile_lightning.metrics.evaluation import REFERENCES, Evaluation
from gile_lightning.metrics.ranking import rank_positives, select


class Scored(NamedTuple):
    """N test documents, scored by one system.

    Attributes:
        metrics: by candidate set and name of the metric: [N], NaN for a document that has no
            positive in the set.
        candidates: the names of the labels of each candidate set.
        gold: the names of the labels of each document.
        labels: by name, for each label of a document: the precision among the labels that are
            scored at least as high, which average precision is the mean of.
    """

    metrics: dict[str, dict[str, Tensor]]
    candidates: dict[str, frozenset[str]]
    gold: list[frozenset[str]]
    labels: dict[str, list[float]]


class DocumentScores:
    """Observes a test, and keeps the metrics of every document.

    Args:
        labels: the candidates.
        evaluation: of the test; has the candidate sets.
        metrics: what to compute.
    """

    def __init__(
        self, labels: LabelSet, evaluation: Evaluation, metrics: Sequence[DocumentMetric]
    ) -> None:
        self.names = labels.names
        kept = evaluation.columns.items()
        self.columns = {key: columns for key, columns in kept if key not in REFERENCES}
        self.metrics = metrics
        self._values: dict[str, dict[str, list[Tensor]]] = {
            key: {metric.name: [] for metric in metrics} for key in self.columns
        }
        self._gold: list[frozenset[str]] = []
        self._labels: dict[str, list[float]] = defaultdict(list)
        self.whole = "all" if "all" in self.columns else "seen"

    def update(self, logits: Tensor, documents: RaggedBatch) -> None:
        """Add a batch of documents, with their scores [B, K]."""
        ids, counts = documents.label_ids.cpu(), documents.label_counts.cpu()
        logits = logits.cpu()
        own = torch.split(ids, counts.tolist())
        self._gold += [frozenset(self.names[i] for i in some.tolist()) for some in own]
        for key, (start, stop) in self.columns.items():
            ranks = rank_positives(logits[:, start:stop], *select(ids, counts, start, stop))
            for metric in self.metrics:
                self._values[key][metric.name].append(ranks.or_nan(metric(ranks).double()))
            if key == self.whole:
                precision = ranks.positives_not_below.double() / ranks.scores_not_below
                for i, value in zip(ranks.label_ids.tolist(), precision.tolist(), strict=True):
                    self._labels[self.names[start + i]].append(value)

    def result(self) -> Scored:
        """Return what was observed."""
        values = {
            key: {name: torch.cat(parts) for name, parts in metrics.items()}
            for key, metrics in self._values.items()
        }
        candidates = {
            key: frozenset(self.names[start:stop]) for key, (start, stop) in self.columns.items()
        }
        return Scored(values, candidates, self._gold, dict(self._labels))
