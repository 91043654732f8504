"""The columns with the highest scores."""

import torch
from torch import Tensor


def best_columns(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the highest scores of each row and their columns, best first: each [B, J].

    On ties the lower column comes first, as in the metrics: `torch.topk` takes any of them, and
    others for another count. A device is not waited for.

    Args:
        scores: [B, K], without NaN.
        count: J, or K if that is less.
    """
    count = min(count, scores.shape[1])
    if scores.device.type != "cpu" or count == 0:  # to know of ties would be to wait
        columns = _in_order(scores, count)
        return scores.gather(1, columns), columns
    # one more tells whether the last one is tied with what is left out
    best = scores.topk(min(count + 1, scores.shape[1]))
    values, columns = best.values[:, :count], best.indices[:, :count]
    tied = (best.values[:, 1:] == best.values[:, :-1]).any(1).nonzero().squeeze(1)
    if len(tied):
        columns[tied] = _in_order(scores[tied], count)
        values[tied] = scores[tied].gather(1, columns[tied])
    return values, columns


def _in_order(scores: Tensor, count: int) -> Tensor:
    """Return the same columns by one `torch.topk`, which takes six times as long without ties."""
    if scores.dtype == torch.double:
        return scores.sort(dim=1, descending=True, stable=True).indices[:, :count]
    # numbers in the order of scores, and for one score in that of columns from the last one
    bits = (scores.float() + 0.0).view(torch.int32)  # -0.0 is 0.0
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).long()
    last = scores.shape[1] - 1
    places = last - torch.arange(scores.shape[1], device=scores.device)
    return last - ((ordered << 32 | places).topk(count).values & 0xFFFFFFFF)
