"""The best labels of documents, kept for what is computed from them all at once."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, distributed

from gile_lightning.data.loading.flat import segment_ids, send
from gile_lightning.metrics.best_columns import best_columns
from gile_lightning.metrics.ranking import select

DEPTH = 50  # labels kept of a document


class Pairs(NamedTuple):
    """Documents with their best labels, best first.

    Shapes: ``log_odds`` [D, k] float64; ``labels`` [D, k] columns; ``correct`` [D, k], whether the
    document has the label; ``positives`` [D], how many of all candidates it has.
    """

    log_odds: NDArray[np.float64]
    labels: NDArray[np.int32]
    correct: NDArray[np.bool_]
    positives: NDArray[np.int64]

    def best(self, depth: int) -> "Pairs":
        """Return the first ``depth`` labels of the documents that have one of the candidates.

        These are the documents whose rankings the metrics are means of.
        """
        some = self.positives > 0
        part = some, slice(depth)
        kept = self.log_odds[part], self.labels[part], self.correct[part]
        return Pairs(*kept, self.positives[some])


class BestPairs:
    """Collects the best labels of documents among the candidates start, ..., stop - 1.

    It keeps some 650 bytes of a document.

    Args:
        start: the first candidate.
        stop: the one after the last.
        scored: whether the model scores them; else only the positives are counted.
    """

    def __init__(self, start: int, stop: int, scored: bool = True) -> None:
        self.columns = start, stop
        self.depth = min(DEPTH, stop - start) if scored else 0
        self.reset()

    def reset(self) -> None:
        """Forget all documents."""
        self._parts: list[tuple[Tensor, ...]] = []

    def update(
        self, scores: Tensor, log_odds: Tensor, label_ids: Tensor, label_counts: Tensor
    ) -> None:
        """Add a batch of documents.

        Args:
            scores: [B, K] of all labels; the best are those with the highest.
            log_odds: [B, K] of all labels.
            label_ids: [P] the positives, document after document.
            label_counts: [B] number of positives per document.
        """
        start, stop = self.columns
        own, counts = select(label_ids, label_counts, start, stop)
        best = best_columns(scores[:, start:stop], self.depth)[1]
        rows = torch.arange(len(best), device=best.device).unsqueeze(1)
        positives = send(segment_ids(counts) * (stop - start) + own, best.device)
        correct = torch.isin(rows * (stop - start) + best, positives)
        labels = best + start
        # kept where they are: a copy would wait for the device at every step
        self._parts.append((log_odds.gather(1, labels), labels.int(), correct, counts))

    def compute(self) -> Pairs:
        """Return the documents so far, of all processes: the same whatever their number."""
        # MPS has no float64
        empty = torch.zeros(0, self.depth)
        none = [(empty, empty.int(), empty.bool(), torch.zeros(0, dtype=torch.long))]
        parts = zip(*(self._parts or none), strict=True)
        log_odds, *rest = (torch.cat(column).cpu() for column in parts)
        own = Pairs(log_odds.double().numpy(), *(part.numpy() for part in rest))
        if not distributed.is_available() or not distributed.is_initialized():
            return own
        found: list[Pairs] = [own] * distributed.get_world_size()
        distributed.all_gather_object(found, own)
        return Pairs(*map(np.concatenate, zip(*found, strict=True)))
