"""The best labels of documents, with what a second stage needs to know of them."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor

from gile_lightning.data.loading.ragged import RaggedBatch, segment_ids
from gile_lightning.systems.calibrated import training_ids
from gile_lightning.systems.system import SCORES, System


class BestLabels(NamedTuple):
    """The J best labels of D documents, best first.

    Shapes: ``ids``, ``logits``, calibrated ``log_odds`` and ``correct``, whether the document has
    the label, [D, J]; ``positives`` [D], how many labels it has in all.
    """

    ids: Tensor
    logits: Tensor
    log_odds: Tensor
    correct: Tensor
    positives: Tensor


@torch.no_grad()
def best_labels(
    system: System, name: str, batches: Iterable[RaggedBatch], depth: int, held_out: bool = False
) -> BestLabels:
    """Score documents, and keep the best of the task's own labels on the CPU.

    Args:
        system: in evaluation mode.
        name: of the task.
        batches: the documents.
        depth: how many labels to keep, if there are as many.
        held_out: the documents are training documents: see `System.score_held_out`.
    """
    labels = system.tasks[name].labels
    prepared, own = system.prepare_labels(name, labels), training_ids(labels)
    found: list[BestLabels] = []
    for batch in batches:
        for part in batch.split(max(1, SCORES // len(labels))):
            part = move_data_to_device(part, system.batch_device)
            if held_out:
                scores = system.score_held_out(name, part, prepared)
            else:
                scores = system.score(name, part.texts, prepared)
            best = scores.topk(min(depth, scores.shape[1]))
            log_odds = system.log_odds(scores).gather(1, best.indices).cpu()
            ids = best.indices.cpu()
            rows = torch.arange(len(ids)).unsqueeze(1) * len(labels)
            counts = part.label_counts.cpu()
            positives = segment_ids(counts) * len(labels) + part.label_ids.cpu()
            found.append(
                BestLabels(
                    ids,
                    best.values.cpu(),
                    system.calibrations.apply(name, log_odds, own[ids]),
                    torch.isin(rows + ids, positives),
                    counts,
                )
            )
    return BestLabels(*map(torch.cat, zip(*found, strict=True)))
