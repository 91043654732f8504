"""Which labels are predicted: those whose probability, the sigmoid of a logit, is high enough."""

import math
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

CELLS = 1024  # a power of two, so that probability * CELLS is exact
BLOCK = 64  # columns that are left out or looked at together; a multiple of any vector unit


def predictions(logits: Tensor, threshold: float) -> Tensor:
    """Return 1 where the sigmoid of a logit in float32 is above the threshold, else 0, as floats.

    In float32, as adding up floats is faster than adding up booleans.
    """
    limit = torch.tensor(threshold, dtype=torch.float32, device=logits.device)
    padded = _probabilities(logits.reshape(-1)).gt_(limit)
    return padded[: logits.numel()].view_as(logits)


def _probabilities(logits: Tensor) -> Tensor:
    """Return the sigmoids of logits [N] in float32, padded with zeros.

    Padded, as torch rounds the sigmoids of the last few numbers, which do not fill a vector unit,
    in another way: the result would depend on the sizes of batches. Padding is below all limits.
    """
    return F.pad(logits.float(), (0, -len(logits) % BLOCK), value=-torch.inf).sigmoid()


def candidates(logits: Tensor, threshold: float) -> Iterator[Tensor]:
    """Yield parts of the logits [B, K], in one dimension, that have all above the threshold.

    A trained model predicts few labels, so that the maxima of short blocks rule out most logits at
    the cost of one reading.
    """
    # lower than need be, whatever the rounding of the sigmoid
    floor = math.log(threshold * (1 - 1e-4)) - math.log1p(-threshold * (1 - 1e-4))
    even = logits.shape[1] // BLOCK * BLOCK
    blocks = logits[:, :even].reshape(len(logits), even // BLOCK, BLOCK)
    rest = logits[:, even:]
    highest = blocks.amax(2)  # the maximum propagates NaN
    if highest.isnan().any() or rest.isnan().any():
        raise ValueError("logits contain NaN: the model diverged, look at the learning rate")
    chosen = highest >= floor  # logits of lower precision may equal it once it is rounded to theirs
    if 4 * chosen.sum() < chosen.numel():
        values = torch.cat([blocks[chosen].flatten(), rest.flatten()])
    else:
        values = logits.flatten()
    # parts that fit a processor's cache; a GPU would rather have few launches
    yield from torch.split(values, 2**17 if logits.device.type == "cpu" else 2**24)


def count_above(parts: Iterable[Tensor], limits: Tensor) -> Tensor:
    """Count the logits, [N] in each part, whose sigmoid in float32 is above each limit [T].

    A binary search among the limits per logit would take five times as long. Here the
    probabilities are counted by cells of width 1 / CELLS, of which each has one limit at most, and
    those above the limit of their cell are counted with the next one.
    """
    cells_of_limits = (limits * CELLS).long()
    limit_of_cell = limits.new_full((CELLS + 1,), torch.inf)
    limit_of_cell[cells_of_limits] = limits
    counts = torch.zeros(CELLS + 2, dtype=torch.long, device=limits.device)
    for logits in parts:
        probabilities = _probabilities(logits)
        cells = (probabilities * CELLS).int()
        # a comparison in place gives 0 and 1 as floats, which are added faster than booleans
        cells += probabilities.gt_(limit_of_cell.index_select(0, cells)).int()
        counts += cells.bincount(minlength=len(counts))
    return counts.flip(0).cumsum(0).flip(0)[cells_of_limits + 1]
