"""All metrics of a task in one validation or test run."""

import math
from typing import Literal

import torch
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.flat import send
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.metrics.best_pairs import BestPairs
from gile_lightning.metrics.collection import RankingMetrics
from gile_lightning.metrics.document_scores import DocumentScores, gold_numbers, label_hashes
from gile_lightning.metrics.per_label import LabelF1
from gile_lightning.metrics.propensity import inverse_propensities
from gile_lightning.metrics.ranking import select
from gile_lightning.metrics.references import popularity_scores, random_scores
from gile_lightning.metrics.table import F1, MACRO_F1, Metrics
from gile_lightning.metrics.thresholded import (
    THRESHOLDS,
    MicroF1,
    micro_f1_terms,
    paper_threshold,
)

# candidate sets of seen labels, by their least and most training documents
BUCKETS = {
    "1 to 5 documents": (1, 5),
    "6 to 50 documents": (6, 50),
    "above 50 documents": (51, math.inf),
}
# rankings that a model must beat; they read neither texts nor scores
REFERENCES = ("seen, by popularity", "unseen, at random")
# sets of candidate labels; each is ranked by itself
CANDIDATES = ("seen", REFERENCES[0], "unseen", REFERENCES[1], "all", *BUCKETS)
MICRO = "micro"  # the key of precision, recall and F1 at a threshold, over all labels


class Evaluation(nn.Module):
    """Ranking metrics and macro-F1 on sets of candidate labels, and micro-F1 on all labels.

    The sets are the seen, the unseen and all labels, and the seen labels by their number of
    training documents. The latter sets and propensity-scored precision need ``labels.documents``.
    Frequencies count all training documents, also if a model is trained on some of them. The
    reference rankings have no probabilities, so they have neither macro-F1 nor the metrics of Nam
    et al. Validation leaves out macro-F1 and the sets by frequency.

    Attributes:
        best: the best seen and the best unseen labels of every document, with their log-odds.

    Args:
        labels: the candidates; those seen in training come first, by falling frequency.
        scores_unseen: whether the model scores unseen labels.
        candidates: which of `CANDIDATES` to rank.
        threshold: of macro-F1, and of micro-F1 beside 0.01, 0.02, ..., 0.99. The default of
            macro-F1 is the paper's.
        without_positive: as for `RankingMetrics`.
        nam16: whether to add the metrics of `nam16_metrics`.
        added: further metrics, for every set.
        keep: whether to keep what each document contributes, see `documents`.

    Raises:
        InputError: the threshold is not 0.001 away from the others.
    """

    def __init__(
        self,
        labels: LabelSet,
        scores_unseen: bool,
        candidates: tuple[str, ...] = CANDIDATES,
        threshold: float | None = None,
        without_positive: Literal["skip", "released"] = "skip",
        nam16: bool = False,
        added: Metrics = (),
        keep: bool = False,
    ) -> None:
        super().__init__()
        self.scores_unseen = scores_unseen and len(labels) > labels.seen
        self.candidates = candidates
        self.columns = _columns(labels, self.scores_unseen)
        weights = None
        if labels.documents:
            weights = inverse_propensities(labels.frequencies, labels.documents)
        self.rankings = nn.ModuleDict()
        for key in candidates:
            start, stop = self.columns.get(key, (0, 0))
            self.rankings[key] = RankingMetrics(
                without_positive=without_positive,
                labels=stop - start,
                inverse_propensities=None if weights is None else weights[start:stop],
                nam16=nam16 and key not in REFERENCES,
                added=added,
                keep=keep and key not in REFERENCES,
            )
        thresholds = _with(threshold)
        try:
            self.micro = MicroF1(thresholds)
        except ValueError as error:
            nearest = min(THRESHOLDS, key=lambda other: abs(other - thresholds[-1]))
            raise InputError(
                f"model.threshold is {threshold}: give {nearest:g}, or a number that is 0.001 away "
                "from it"
            ) from error
        self.threshold = threshold or paper_threshold(labels.seen or len(labels))
        scored = len(labels) if self.scores_unseen else labels.seen
        self.per_label = LabelF1(scored, self.threshold)
        seen = labels.seen
        self.best = {
            "seen": BestPairs(0, seen),
            "unseen": BestPairs(seen, len(labels), self.scores_unseen),
        }
        self._hashes = label_hashes(labels.names) if keep else None
        self._kept: list[tuple[Tensor, Tensor, Tensor]] = []
        self.macro = any(key not in CANDIDATES[:3] for key in candidates)  # not in validation

    def update(
        self,
        logits: Tensor,
        documents: RaggedBatch,
        log_odds: Tensor | None = None,
        finite: bool = False,
    ) -> None:
        """Add a batch of documents.

        Args:
            logits: [B, K] of all labels, or of the seen ones; labels are ranked by them.
            documents: B documents with all their labels.
            log_odds: [B, K]; their sigmoids are the probabilities. By default the logits.
            finite: whether it is known that none of them is NaN.
        """
        log_odds = logits if log_odds is None else log_odds
        batch = logits, log_odds  # on MPS, where the metrics are on the CPU
        logits, log_odds = move_data_to_device(batch, self.micro.device)
        label_ids, label_counts = documents.label_ids, documents.label_counts
        self.micro.update(log_odds, label_ids, label_counts, finite)
        if self._hashes is not None:
            terms = micro_f1_terms(log_odds, label_ids, label_counts, self.threshold)
            rows = torch.zeros_like(label_counts) if documents.rows is None else documents.rows
            self._kept.append((rows, gold_numbers(self._hashes, documents), terms))
        if self.macro:
            self.per_label.update(log_odds[:, : self.per_label.labels], label_ids, label_counts)
        for best in self.best.values():
            best.update(logits, log_odds, label_ids, label_counts)
        for key in self.candidates:
            if key in self.columns:
                start, stop = self.columns[key]
                scores = send(_scores(key, logits[:, start:stop], documents), logits.device)
                positives = select(label_ids, label_counts, start, stop)
                self.rankings[key].update(scores, *positives, finite)  # type: ignore[operator]

    def compute(self) -> dict[str, dict[str, float]]:
        """Return the metrics by candidate set: those of `RankingMetrics`, and ``macro_f1``.

        Macro-F1 is the mean of `LabelF1` over the labels of the set that occur in the documents. It
        is NaN without a document, and 0 if no label occurs.
        """
        f1 = self.per_label.compute().reshape(-1)  # of a single label it is a scalar
        results: dict[str, dict[str, float]] = {}
        for key in self.candidates:
            scores = self.rankings[key].compute().items()  # type: ignore[operator]
            results[key] = {name: float(value) for name, value in scores}
            if self.macro and key not in REFERENCES:
                start, stop = self.columns.get(key, (0, 0))
                occurring = f1[start:stop][~f1[start:stop].isnan()]
                labels = len(occurring) or results[key]["documents"]
                results[key][MACRO_F1] = float(occurring.sum() / labels)
        return results

    def documents(self) -> DocumentScores:
        """Return what each document contributes to the figures, of all processes.

        Of the rankings these are the metrics that have a column in the tables; ``micro`` has F1.
        """
        empty = torch.zeros(0, dtype=torch.long)
        if not self._kept:
            return DocumentScores(empty, empty, {}).gathered()
        rows, gold, f1 = (torch.cat(part).cpu() for part in zip(*self._kept, strict=True))
        found = {key: ranking.documents() for key, ranking in self.rankings.items()}  # type: ignore[operator]
        terms = {key: values for key, values in found.items() if values}
        return DocumentScores(rows, gold, {**terms, MICRO: {F1: f1}}).gathered()

    def reset(self) -> None:
        """Forget all documents."""
        self._kept = []
        for metric in (*self.rankings.values(), self.micro, self.per_label):
            metric.reset()  # type: ignore[operator]
        for best in self.best.values():
            best.reset()


def _columns(labels: LabelSet, scores_unseen: bool) -> dict[str, tuple[int, int]]:
    """Return the first column of each candidate set, and the column after its last."""
    seen, count = labels.seen, len(labels)
    columns = dict.fromkeys(("seen", REFERENCES[0]), (0, seen))
    if scores_unseen:
        columns |= dict.fromkeys(("unseen", REFERENCES[1]), (seen, count)) | {"all": (0, count)}
    for key, (least, most) in BUCKETS.items() if labels.documents else ():
        # the frequencies are sorted, highest first
        start = sum(n > most for n in labels.frequencies)
        stop = sum(n >= least for n in labels.frequencies)
        if start < stop:
            columns[key] = start, stop
    return columns


def _scores(key: str, logits: Tensor, documents: RaggedBatch) -> Tensor:
    if key == "seen, by popularity":
        return popularity_scores(logits)
    return random_scores(documents, logits.shape[1]) if key == "unseen, at random" else logits


def _with(threshold: float | None) -> tuple[float, ...]:
    if threshold is None or any(math.isclose(threshold, other) for other in THRESHOLDS):
        return THRESHOLDS
    return *THRESHOLDS, threshold
