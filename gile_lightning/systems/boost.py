"""How much a ridge regression counts on new documents: chosen on validation documents."""

from collections.abc import Iterable

import torch

from gile_lightning.common.errors import DivergedError
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.explaining.contributions import RIDGE, contributions
from gile_lightning.metrics.functional import ranking_metrics
from gile_lightning.metrics.ranking import select
from gile_lightning.network import PreparedLabels
from gile_lightning.systems.system import RANKED, System

BOOSTS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
"""The factors to choose from. Documents that come later are less like those of training than
validation documents are, so no larger one is tried."""

DOCUMENTS = 1_000  # that choose, at most


@torch.no_grad()
def best_boost(system: System, labels: PreparedLabels, documents: Iterable[RaggedBatch]) -> float:
    """Return the factor with the highest average precision; of ties, that nearest to the current.

    If no document has a label, it stays as it is.

    Args:
        system: whose labels these are.
        labels: those seen in training, of a network with a regression.
        documents: validation documents.

    Raises:
        DivergedError: the scores are not numbers.
    """
    before = float(labels.network.ridge.boost)  # type: ignore[union-attr]
    sums = torch.zeros(len(BOOSTS), dtype=torch.float64)
    size = max(1, RANKED // len(labels))
    for part in (part for batch in documents for part in batch.split(size)):
        parts = contributions(labels, part.texts.to(system.batch_device))
        regression = parts.pop(RIDGE) / before
        others = torch.stack(list(parts.values())).sum(0)
        positives = select(part.label_ids, part.label_counts, 0, len(labels))
        for place, boost in enumerate(BOOSTS):
            scores = torch.add(others, regression, alpha=boost)
            if scores.isnan().any():
                raise DivergedError("the model's scores are not numbers")
            precisions = ranking_metrics(scores, *positives).average_precision
            sums[place] += precisions.nansum().cpu()
    if not sums.any():
        return before
    best = sums.amax()
    ties = [boost for boost, total in zip(BOOSTS, sums, strict=True) if total == best]
    return min(ties, key=lambda boost: abs(boost - before))
