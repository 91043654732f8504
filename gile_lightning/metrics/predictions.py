"""Predicted labels: those whose probability, the sigmoid of a logit, exceeds a threshold."""

import math
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from gile_lightning.data.loading.flat import count_ids, send

CELLS = 1024  # a power of two: probability * CELLS is exact
BLOCK = 64  # columns per block; a multiple of every vector unit


def predictions(logits: Tensor, threshold: float) -> Tensor:
    """Return 1 where the sigmoid of a logit in float32 is above the threshold, else 0, as floats.

    They are float32, because floats are added up faster than booleans.
    """
    limit = send(torch.tensor(threshold, dtype=torch.float32), logits.device)
    padded = _probabilities(logits.reshape(-1)).gt_(limit)
    return padded[: logits.numel()].view_as(logits)


def _probabilities(logits: Tensor) -> Tensor:
    """Return the sigmoids of logits [N] in float32, padded with zeros.

    torch rounds the last few sigmoids, which do not fill a vector unit, in another way. Without
    padding the result would depend on the sizes of batches. The zeros are below all limits.
    """
    return F.pad(logits.float(), (0, -len(logits) % BLOCK), value=-torch.inf).sigmoid()


def candidates(logits: Tensor, threshold: float, finite: bool = False) -> Iterator[Tensor]:
    """Yield chunks of the logits [B, K], flat, that contain all logits above the threshold.

    A trained model predicts few labels. So the maxima of short blocks exclude most logits, and
    every logit is read once. A device yields all logits, as it would wait for the choice; there
    ``finite`` says that none is NaN.
    """
    if logits.device.type != "cpu":
        if not finite and logits.isnan().any():
            raise ValueError("logits contain NaN: the model diverged, look at the learning rate")
        yield from torch.split(logits.flatten(), 2**24)
        return
    # a little low: the rounding of the sigmoid must not matter
    low = threshold * (1 - 1e-4)
    floor = math.log(low) - math.log1p(-low)
    even = logits.shape[1] // BLOCK * BLOCK
    blocks = logits[:, :even].reshape(len(logits), even // BLOCK, BLOCK)
    rest = logits[:, even:]
    highest = blocks.amax(2)  # the maximum propagates NaN
    if highest.isnan().any() or rest.isnan().any():
        raise ValueError("logits contain NaN: the model diverged, look at the learning rate")
    chosen = highest >= floor  # equal, too: bfloat16 logits round the floor
    if 4 * chosen.sum() < chosen.numel():
        values = torch.cat([blocks[chosen].flatten(), rest.flatten()])
    else:
        values = logits.flatten()
    yield from torch.split(values, 2**17)  # chunks that fit a processor's cache


def count_above(chunks: Iterable[Tensor], limits: Tensor) -> Tensor:
    """Count the logits, [N] in each chunk, whose sigmoid in float32 is above each limit [T].

    The probabilities are counted in cells of width 1 / CELLS. Each cell contains at most one limit.
    Probabilities above the limit of their cell are counted in the next cell. A binary search for
    each logit would take five times as long.
    """
    cells_of_limits = (limits * CELLS).long()
    limit_of_cell = limits.new_full((CELLS + 1,), torch.inf)
    limit_of_cell[cells_of_limits] = limits
    counts = torch.zeros(CELLS + 2, dtype=torch.long, device=limits.device)
    for logits in chunks:
        probabilities = _probabilities(logits)
        cells = (probabilities * CELLS).int()
        # a comparison in place gives 0 and 1 as floats, which are added up faster than booleans
        cells += probabilities.gt_(limit_of_cell.index_select(0, cells)).int()
        counts += count_ids(cells, len(counts))
    return counts.flip(0).cumsum(0).flip(0)[cells_of_limits + 1]
