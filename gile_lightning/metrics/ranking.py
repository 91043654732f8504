"""Exact ranks of the positives among large label sets."""

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import segment_ids, segment_starts, send
from gile_lightning.metrics.counting import count_below, refuse_nan
from gile_lightning.metrics.ranks import Ranks


def rank_positives(
    scores: Tensor, label_ids: Tensor, label_counts: Tensor, finite: bool = False
) -> Ranks:
    """Rank the positives of every document; all ranking metrics follow from this.

    Arguments and errors are those of `ranking_metrics`; ``finite`` says that no score is NaN.

    A rank follows from how many scores are below. Columns matter only where a positive is tied
    with another label.

    A device is waited for only to know whether there is a NaN. With the labels on the host all else
    is known there.
    """
    # NumPy lacks bfloat16 and sorts float16 slowly; neither order nor ties change
    scores = scores.detach()
    scores = scores.float() if scores.dtype in (torch.half, torch.bfloat16) else scores
    label_ids, label_counts = _checked(scores, label_ids, label_counts)
    columns, device = scores.shape[1], scores.device
    if not len(label_ids):
        if not finite:
            refuse_nan(scores)
        none, label_counts = send(label_ids, device), send(label_counts, device)
        return Ranks(none, none, scores.new_empty(0), none, none, none, label_counts, columns)
    document = segment_ids(label_counts, label_ids)
    if ((document * columns + label_ids).sort().values.diff() == 0).any():
        raise ValueError("a label id is twice among the positives of one document")
    most = int(label_counts.max())
    label_ids, label_counts, document = (
        send(x, device) for x in (label_ids, label_counts, document)
    )
    count = count_below(scores, document, label_ids, label_counts, most, finite)
    return Ranks(
        document,
        label_ids,
        scores[document, label_ids],
        columns - count.below,
        label_counts[document] - count.positives_below,
        columns - count.not_above + count.tied_before,
        label_counts,
        columns,
    )


def select(label_ids: Tensor, label_counts: Tensor, start: int, stop: int) -> tuple[Tensor, Tensor]:
    """Return the positives among the columns start..stop-1, renumbered to begin at 0.

    Seen labels are the first columns, unseen labels the rest.

    Args:
        label_ids: [P] integers, document after document.
        label_counts: [B] integers, the number of positives per document.
        start: first column.
        stop: the column after the last.

    Returns:
        Label ids and counts of the same documents, for ``scores[:, start:stop]``. Some documents
        may have no positive left.

    Raises:
        ValueError: not 0 <= start <= stop, or the counts do not add up to the number of ids.
    """
    if not 0 <= start <= stop:
        raise ValueError(f"must be 0 <= start <= stop, not start {start}, stop {stop}")
    check_positives(label_ids, label_counts)
    kept = (label_ids >= start) & (label_ids < stop)
    # positives kept before each position; a document has the difference of two of these
    before = torch.cat([kept.new_zeros(1, dtype=torch.long), kept.cumsum(0)])
    starts = segment_starts(label_counts)
    counts = before[starts + label_counts] - before[starts]
    return label_ids[kept] - start, counts.to(label_counts.dtype)


def _checked(scores: Tensor, label_ids: Tensor, label_counts: Tensor) -> tuple[Tensor, Tensor]:
    """Return ids and counts as int64, or raise `ValueError`."""
    if scores.ndim != 2 or not scores.is_floating_point():
        raise ValueError(
            f"scores must be floating point [documents, labels], not {scores.dtype} "
            f"{list(scores.shape)}"
        )
    if label_counts.shape != scores.shape[:1]:
        raise ValueError(
            f"label_counts must have one entry for each of the {len(scores)} rows of scores, "
            f"not the shape {list(label_counts.shape)}"
        )
    check_positives(label_ids, label_counts)
    if len(label_ids) and (label_ids.min() < 0 or label_ids.max() >= scores.shape[1]):
        raise ValueError(
            f"label_ids must be in [0, {scores.shape[1]}), the columns of scores; they span "
            f"[{int(label_ids.min())}, {int(label_ids.max())}]"
        )
    return label_ids.long(), label_counts.long()


def check_positives(label_ids: Tensor, label_counts: Tensor) -> None:
    """Raise `ValueError` unless ids [P] and counts [B] are integers that fit together."""
    for name, values in (("label_ids", label_ids), ("label_counts", label_counts)):
        if values.ndim != 1 or values.is_floating_point() or values.dtype == torch.bool:
            raise ValueError(
                f"{name} must be integers in one dimension, not {values.dtype} {list(values.shape)}"
            )
    if len(label_counts) and label_counts.min() < 0:
        raise ValueError("label_counts must not be negative")
    if label_counts.sum() != len(label_ids):
        raise ValueError(
            f"label_counts add up to {int(label_counts.sum())}, but there are {len(label_ids)} "
            "label_ids"
        )
