"""The columns with the highest scores."""

import torch
from torch import Tensor


def best_columns(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the highest scores of each row and their columns, best first: each [B, J].

    On ties the lower column comes first, as in the metrics: `torch.topk` takes any of them, and
    others for another count. A GPU is not waited for, so ties are as `torch.topk` has them there.

    Args:
        scores: [B, K], without NaN.
        count: J, or K if that is less.
    """
    count = min(count, scores.shape[1])
    if scores.device.type != "cpu":
        best = scores.topk(count)
        return best.values, best.indices
    # one more tells whether the last one is tied with what is left out
    values, columns = scores.topk(min(count + 1, scores.shape[1]))
    tied = (values[:, 1:] == values[:, :-1]).any(1).nonzero().squeeze(1)
    values, columns = values[:, :count], columns[:, :count]
    if len(tied):
        order = torch.sort(scores[tied], dim=1, descending=True, stable=True)
        values[tied], columns[tied] = order.values[:, :count], order.indices[:, :count]
    return values, columns
