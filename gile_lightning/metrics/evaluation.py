"""All scores of a language in one validation or test run."""

import math
from typing import Literal

from torch import Tensor, nn

from gile_lightning.data.labels import LabelSet
from gile_lightning.data.ragged import RaggedBatch
from gile_lightning.errors import InputError
from gile_lightning.metrics.collection import RankingMetrics
from gile_lightning.metrics.ranking import select
from gile_lightning.metrics.references import popularity_scores, random_scores
from gile_lightning.metrics.thresholded import THRESHOLDS, MicroF1

# candidate labels, each ranked by itself, and the rankings that a model must beat there
CANDIDATES = ("seen", "seen, by popularity", "unseen", "unseen, at random", "all")
MICRO = "micro"  # the key of precision, recall and F1 at a threshold, over all labels


class Evaluation(nn.Module):
    """Ranking metrics on the seen, unseen and all labels, and micro-F1 on all labels.

    Args:
        labels: the candidates; those seen in training come first.
        scores_unseen: whether the model scores the others too.
        candidates: which of `CANDIDATES` to rank.
        threshold: one for micro-F1 beside 0.01, 0.02, ..., 0.99.
        without_positive: as for `RankingMetrics`.

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
    ) -> None:
        super().__init__()
        self.seen, self.count = labels.seen, len(labels)
        self.scores_unseen = scores_unseen and self.count > self.seen
        self.candidates = candidates
        self.rankings = nn.ModuleDict(
            {key: RankingMetrics(without_positive=without_positive) for key in candidates}
        )
        thresholds = _with(threshold)
        try:
            self.micro = MicroF1(thresholds)
        except ValueError as error:
            nearest = min(THRESHOLDS, key=lambda known: abs(known - thresholds[-1]))
            raise InputError(
                f"model.threshold is {threshold}: give {nearest:g}, or a number that is 0.001 away "
                "from it"
            ) from error

    def update(self, logits: Tensor, documents: RaggedBatch) -> None:
        """Add a batch: logits [B, K] of all labels, or of those seen in training alone."""
        seen, count = self.seen, self.count
        self.micro.update(logits, documents.label_ids, documents.label_counts)
        self._rank("seen", logits[:, :seen], documents, 0, seen)
        if "seen, by popularity" in self.candidates:
            popularity = popularity_scores(logits[:, :seen])
            self._rank("seen, by popularity", popularity, documents, 0, seen)
        if self.scores_unseen:
            self._rank("unseen", logits[:, seen:], documents, seen, count)
            self._rank("all", logits, documents, 0, count)
            if "unseen, at random" in self.candidates:
                chance = random_scores(documents, count - seen)
                self._rank("unseen, at random", chance, documents, seen, count)

    def _rank(
        self, key: str, scores: Tensor, documents: RaggedBatch, start: int, stop: int
    ) -> None:
        if key in self.candidates:
            positives = select(documents.label_ids, documents.label_counts, start, stop)
            self.rankings[key].update(scores, *positives)  # type: ignore[operator]

    def compute(self) -> dict[str, dict[str, float]]:
        """Return the ranking metrics by candidate set."""
        return {
            key: {name: float(value) for name, value in self.rankings[key].compute().items()}  # type: ignore[operator]
            for key in self.candidates
        }

    def reset(self) -> None:
        """Begin anew."""
        for metric in (*self.rankings.values(), self.micro):
            metric.reset()  # type: ignore[operator]


def _with(threshold: float | None) -> tuple[float, ...]:
    if threshold is None or any(math.isclose(threshold, known) for known in THRESHOLDS):
        return THRESHOLDS
    return *THRESHOLDS, threshold
