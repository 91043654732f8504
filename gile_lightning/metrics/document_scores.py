"""What each test document contributes to the figures, for each set of candidate labels."""

import zlib
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, distributed

from gile_lightning.data.loading.flat import segment_ids, send
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.metrics.ranking import rank_positives, select

Terms = dict[str, dict[str, Tensor]]
"""By candidate set, then by metric: [N, 2] float32. The figure is the sum of the first numbers of
all documents over that of the second: a mean where these are 1 (0 for a document that does not
count), and micro-F1, see `micro_f1_terms`."""


GOLD = "documents"
"""The key of `DocumentScores.gold` where terms have the keys of figures."""


def figure(terms: Tensor) -> float:
    """Return the figure that the terms [N, 2] make; NaN if no document counts."""
    above, below = terms.double().sum(0)
    return float(above / below)


class DocumentScores(NamedTuple):
    """N test documents of one task, scored by one system.

    Attributes:
        rows: [N] int64, their places in the corpus.
        gold: [N] int64, a number made of the names of a document's labels, whatever their order.
            Two runs that were tested on the same documents have the same numbers.
        terms: what each document contributes to the figures.
    """

    rows: Tensor
    gold: Tensor
    terms: Terms

    def gathered(self) -> "DocumentScores":
        """Return the documents of all processes, in the order of the corpus."""
        whole = self._of_all_processes()
        order = whole.rows.argsort(stable=True)
        terms = {
            key: {name: values[order] for name, values in of_set.items()}
            for key, of_set in whole.terms.items()
        }
        return DocumentScores(whole.rows[order], whole.gold[order], terms)

    def _of_all_processes(self) -> "DocumentScores":
        if not distributed.is_available() or not distributed.is_initialized():
            return self
        found: list[DocumentScores] = [self] * distributed.get_world_size()
        distributed.all_gather_object(found, self)
        terms = {
            key: {name: torch.cat([x.terms[key][name] for x in found if x.terms]) for name in own}
            for key, own in next((x.terms for x in found if x.terms), {}).items()
        }
        rows, gold = (torch.cat(part) for part in zip(*(x[:2] for x in found), strict=True))
        return DocumentScores(rows, gold, terms)


def label_hashes(names: Iterable[str]) -> Tensor:
    """Return a number per label that depends on its name alone: [K] int64."""
    return torch.tensor([zlib.crc32(name.encode()) for name in names], dtype=torch.long)


def gold_numbers(hashes: Tensor, documents: RaggedBatch) -> Tensor:
    """Return the sums of the `label_hashes` of the labels of B documents: [B] int64."""
    ids, counts = documents.label_ids, documents.label_counts
    numbers = torch.zeros(len(counts), dtype=torch.long, device=ids.device)
    own = send(hashes, ids.device)[ids.long()]
    return numbers.index_add_(0, segment_ids(counts, ids), own)


class LabelPrecisions:
    """Observes a test, and keeps what average precision is the mean of, label by label.

    Args:
        labels: the candidates.
        start: the first of those that are ranked.
        stop: the one after the last.

    Attributes:
        gold: the names of the labels of each document.
        precisions: by name, for each document that has the label: the precision among the labels
            that are scored at least as high.
    """

    def __init__(self, labels: LabelSet, start: int, stop: int) -> None:
        self.names, self.columns = labels.names, (start, stop)
        self.gold: list[frozenset[str]] = []
        self.precisions: dict[str, list[float]] = defaultdict(list)

    def update(self, logits: Tensor, documents: RaggedBatch) -> None:
        """Add a batch of documents, with their scores [B, K]."""
        ids, counts = documents.label_ids.cpu(), documents.label_counts.cpu()
        start, stop = self.columns
        own = torch.split(ids, counts.tolist())
        self.gold += [frozenset(self.names[i] for i in some.tolist()) for some in own]
        ranks = rank_positives(logits.cpu()[:, start:stop], *select(ids, counts, start, stop))
        precision = ranks.positives_not_below.double() / ranks.scores_not_below
        for i, value in zip(ranks.label_ids.tolist(), precision.tolist(), strict=True):
            self.precisions[self.names[start + i]].append(value)
