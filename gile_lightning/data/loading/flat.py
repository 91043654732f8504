"""Flat values in segments: where these begin, sums by id, and the way to a device."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.compiler import is_compiling

_SMALL = 2**16  # bytes that the host sends without waiting for a GPU
_PIECE = 256  # of a segment, summed up by one thread of a GPU


def send(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor on a device, without waiting for it: a large one from pinned memory.

    The driver of a GPU copies small ones before the call returns, in half the time.
    """
    if tensor.device == device:
        return tensor
    if device.type == "cuda" and tensor.device.type == "cpu" and tensor.nbytes > _SMALL:
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def segment_starts(lengths: Tensor) -> Tensor:
    """Return the offset [S] at which every segment begins, from their lengths [S]."""
    return lengths.cumsum(0) - lengths


def segment_ids(lengths: Tensor, values: Tensor | None = None) -> Tensor:
    """Return the segment that every element of the flat values belongs to: [N].

    With the values [N, ...] it is on their device. A GPU then waits for nothing, as N is known.
    """
    size = None
    if values is not None:
        lengths, size = send(lengths, values.device), len(values)
    if _is_plain(lengths):
        # PyTorch would start its threads for this, which then keep their cores busy for a while
        found = torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths.numpy()))
        if size not in (None, len(found)):
            raise ValueError(f"lengths add up to {len(found)}, but there are {size} values")
        return found
    numbers = torch.arange(len(lengths), device=lengths.device)
    return torch.repeat_interleave(numbers, lengths, output_size=size)


def gather_segments(values: Tensor, starts: Tensor, lengths: Tensor, ids: Tensor) -> Tensor:
    """Concatenate the segments ``ids`` of flat ``values``, from the starts and lengths of all."""
    chosen = lengths[ids]
    shift = starts[ids] - segment_starts(chosen)
    places = torch.repeat_interleave(shift, chosen)
    places += torch.arange(len(places), device=ids.device)
    return values.index_select(0, places)  # several times as fast as an index


def count_ids(ids: Tensor, size: int, chosen: Tensor | None = None) -> Tensor:
    """Count each id below ``size`` among ids [N], or among the ``chosen`` ones [N]: [size].

    It is `torch.bincount`, which on a device would wait for the largest id.
    """
    if ids.device.type == "cpu":
        return (ids if chosen is None else ids[chosen]).bincount(minlength=size)
    ones = torch.ones_like(ids, dtype=torch.long) if chosen is None else chosen.long()
    return ones.new_zeros(size).index_add_(0, ids, ones)


def distinct(ids: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the distinct values [U] of ids [N] below ``size``, sorted, and every id's place there.

    No id is negative. The places have the type of the ids.

    It does what `torch.unique` does, by marking instead of sorting. For a batch of words and a
    vocabulary of half a million that is several times as fast.
    """
    if _is_plain(ids):
        # NumPy marks at random places much faster than PyTorch, whose threads disturb each other
        numbers = ids.numpy().astype(np.intp, copy=False)
        marked = np.zeros(size, dtype=np.bool_)
        marked[numbers] = True
        chosen = marked.nonzero()[0]
        ranks = np.empty(size, dtype=ids.numpy().dtype)
        ranks[chosen] = np.arange(len(chosen), dtype=ranks.dtype)
        return torch.from_numpy(chosen), torch.from_numpy(ranks[numbers])
    marks = torch.zeros(size, dtype=torch.bool, device=ids.device)
    values = marks.index_fill_(0, ids.long(), True).nonzero().squeeze(1)
    places = torch.empty_like(marks, dtype=ids.dtype)
    places[values] = torch.arange(len(values), dtype=ids.dtype, device=ids.device)
    return values, places.index_select(0, ids)


def sum_by_id(
    values: Tensor, sources: Tensor, ids: Tensor, size: int, weights: Tensor | None = None
) -> Tensor:
    """Sum ``values[sources]`` [N, d], times weights [N], over the places with the same id.

    Args:
        values: vectors [S, d].
        sources: which of them stands at each place [N].
        ids: the ids of the places [N].
        size: U, above all ids.
        weights: factors [N].

    Returns:
        The sums by id [U, d].
    """
    order = ids.int().argsort()
    weights = None if weights is None else weights[order]
    bag = partial(F.embedding_bag, sources[order], values, mode="sum", per_sample_weights=weights)
    if ids.device.type == "cpu":
        return bag(segment_starts(ids.bincount(minlength=size)))
    # counting would read the largest id
    starts = torch.searchsorted(ids[order], torch.arange(size, device=ids.device))
    return _in_two_rounds(bag, starts, len(ids))


def _in_two_rounds(bag: Callable[[Tensor], Tensor], starts: Tensor, count: int) -> Tensor:
    """Sum segments of ``count`` places in pieces of `_PIECE` at most, and then the pieces: [U, d].

    A GPU sums a segment with one thread per column, and would wait for the longest: one word in
    twenty is the same one.

    Args:
        bag: sums segments of the places, from where they start.
        starts: of the segments [U], in ascending order.
        count: of places.
    """
    cuts = torch.arange(0, count, _PIECE, device=starts.device)
    bounds = torch.cat([starts, cuts]).sort().values
    pieces = bag(bounds)
    # of the pieces that begin at one place all but the last are empty
    numbers = torch.arange(len(pieces), device=starts.device)
    return F.embedding_bag(numbers, pieces, torch.searchsorted(bounds, starts), mode="sum")


def _is_plain(tensor: Tensor) -> bool:
    """Return whether NumPy can compute with a tensor: it is on the host, and nothing traces it."""
    return type(tensor) is Tensor and tensor.device.type == "cpu" and not is_compiling()
