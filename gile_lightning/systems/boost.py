"""How far a ridge regression is trusted on new documents: chosen on validation documents."""

from collections.abc import Iterable

import torch

from gile_lightning.data.loading.ragged import RaggedBatch, send
from gile_lightning.metrics.functional import ranking_metrics
from gile_lightning.metrics.ranking import select
from gile_lightning.network import PreparedLabels
from gile_lightning.systems.system import SCORES, System

BOOSTS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
"""The factors to choose from. Documents that come later are less like those of training than
validation documents are, so no larger one is tried."""

DOCUMENTS = 1_000  # that choose, at most


@torch.no_grad()
def best_boost(
    system: System, name: str, labels: PreparedLabels, documents: Iterable[RaggedBatch]
) -> float:
    """Return the factor with the highest average precision; 1 if no document has a label.

    Args:
        system: scores the documents.
        name: of the language.
        labels: those seen in training, of a network with a regression.
        documents: validation documents.
    """
    boost = labels.network.ridge.boost  # type: ignore[union-attr]
    before, size = boost.clone(), max(1, SCORES // len(labels))
    sums = torch.zeros(len(BOOSTS), dtype=torch.float64, device=boost.device)
    for part in (part for batch in documents for part in batch.split(size)):
        positives = select(part.label_ids, part.label_counts, 0, len(labels))
        ids, counts = (send(own, boost.device) for own in positives)
        boost.fill_(0)
        without = system.score(name, part.texts, labels)
        boost.fill_(1)
        added = system.score(name, part.texts, labels) - without
        for place, factor in enumerate(BOOSTS):
            scores = torch.add(without, added, alpha=factor)
            sums[place] += ranking_metrics(scores, ids, counts).average_precision.nansum()
    boost.copy_(before)
    return BOOSTS[int(sums.argmax())] if sums.any() else 1.0
