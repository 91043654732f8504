"""The best labels of documents, with what a second stage needs to know of them."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor

from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.metrics.best_columns import best_columns
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
            ids, logits, log_odds, counts, positives = best_on_host(
                system, scores, depth, part.label_counts, part.label_ids
            )
            rows = torch.arange(len(ids)).unsqueeze(1) * len(labels)
            positives = segment_ids(counts) * len(labels) + positives
            found.append(
                BestLabels(
                    ids,
                    logits,
                    system.calibrations.apply(name, log_odds, own[ids]),
                    torch.isin(rows + ids, positives),
                    counts,
                )
            )
    return BestLabels(*map(torch.cat, zip(*found, strict=True)))


def best_on_host(system: System, logits: Tensor, depth: int, *more: Tensor) -> list[Tensor]:
    """Return the best labels, and ``more`` tensors, from a device in one copy.

    Args:
        system: which made the logits.
        logits: of all labels [B, K].
        depth: how many labels to return, if there are as many.
        more: what else is wanted.

    Returns:
        Ids, logits and log-odds of the labels, best first, each [B, J]; then the other tensors.
    """
    values, ids = best_columns(logits, depth)  # by logits: probabilities near 1 are equal
    log_odds = system.log_odds(logits).gather(1, ids)
    return _on_host(ids, values, log_odds, *more)


def _on_host(*tensors: Tensor) -> list[Tensor]:
    """Copy tensors to the host as the bytes of one, so that a device is waited for only once."""
    there = [tensor for tensor in tensors if tensor.device.type != "cpu"]
    if not there:
        return list(tensors)
    flat = [tensor.flatten().view(torch.uint8) for tensor in there]
    pieces = iter(torch.split(torch.cat(flat).cpu(), [len(piece) for piece in flat]))
    return [
        # cloned, as a number of several bytes must begin at a multiple of its size
        next(pieces).clone().view(x.dtype).view(x.shape) if x.device.type != "cpu" else x
        for x in tensors
    ]
