"""Ragged texts in padded batches, for whatever encodes a batch."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.flat import send
from gile_lightning.data.pretrained.passages import (
    hidden_counts,
    means,
    passage_counts,
    restored_order,
    windows,
)
from gile_lightning.data.pretrained.subwords import NEXT

_PADDED = 8  # at most a part of a batch in so many is new padding
_SEVERAL = (
    "this pretrained model puts several poolings side by side, so passages have no vectors: leave "
    "matchers.BestPassage out of model.matchers"
)


class Encoded(NamedTuple):
    """Vectors of length 1: of texts [B, d], and of their passages [P, d].

    The passages of a text stand together, in the order of the texts; ``passage_counts`` [B] says
    how many each has. There are none unless they are asked for.
    """

    vectors: Tensor
    passages: Tensor
    passage_counts: Tensor


def in_batches(
    encode: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]],
    subwords: Tensor,
    counts: Tensor,
    padding: int,
    size: int,
    most: int,
    device: torch.device | None = None,
    passages: bool = False,
    each: Callable[..., Iterable[Any]] = map,
) -> Encoded:
    """Encode ragged texts in padded batches; zeros for a text without a subword.

    Texts of similar lengths share a batch, so that little is padded. The vector of a text of
    several windows is the mean of theirs, weighted by their subwords. That of a passage is the mean
    of its subwords' outputs, which have seen the whole window (late chunking: Günther et al., 2024,
    arXiv 2409.04701). So passages cost no further run of the model.

    Args:
        encode: a batch of padded texts, as `transformer.encode_batch` does.
        subwords: ids [N], with `NEXT` between windows; other ids below 0 are hidden from pooling,
            see `Reading.subwords`.
        counts: of the texts [B].
        padding: the id that pads.
        size: of a vector.
        most: subwords of a batch, padding included.
        device: of the vectors; by default that of the texts.
        passages: whether passages have vectors too.
        each: applies a function to all batches, as ``map`` does.

    Raises:
        InputError: passages are wanted, and the model's vectors are several poolings side by side.
    """
    device = counts.device if device is None else device
    sizes, per_text = windows(subwords, counts)
    if len(sizes) > len(counts):
        given = subwords, counts
        own = subwords[subwords != NEXT]
        of_windows = in_batches(encode, own, sizes, padding, size, most, device, passages, each)
        sizes, per_text = send(sizes, device), send(per_text, device)
        weighted = of_windows.vectors * sizes.unsqueeze(1)
        # "unsafe" looks at no length, for which the host would wait
        mean = F.normalize(torch.segment_reduce(weighted, "sum", lengths=per_text, unsafe=True))
        in_texts = passage_counts(*given) if passages else torch.zeros_like(counts)
        return Encoded(mean, of_windows.passages, in_texts)
    starts = counts.cumsum(0) - counts
    order = counts.argsort()
    all_hidden = hidden_counts(subwords, counts)
    hidden = all_hidden[order]
    batches = [
        (leading, rows)
        for leading in sorted(set(hidden.tolist()))  # which pooling leaves out of a whole batch
        for rows in cut(order[hidden == leading], counts, most)
    ]

    def run(batch: tuple[int, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the vectors of a batch, and those of its passages, if they are wanted."""
        leading, rows = batch
        places = torch.arange(int(counts[rows].amax()), device=counts.device)
        mask = places < counts[rows].unsqueeze(1)
        at = (starts[rows].unsqueeze(1) + places).clamp_(max=len(subwords) - 1)
        ids = subwords.long()[at]
        ids = ids.where(ids >= 0, ~ids).where(mask, padding)
        vectors, outputs = encode(ids, mask.long(), leading)
        if not passages:
            return vectors, nothing
        if not outputs.shape[-1]:
            raise InputError(_SEVERAL)
        return vectors, means(outputs, counts[rows], leading)

    nothing = torch.zeros(0, size, device=device)
    empty = order[counts[order] == 0]
    found = [(torch.zeros(len(empty), size, device=device), nothing), *each(run, batches)]
    parts, of_passages = zip(*found, strict=True)
    encoded = [empty, *(rows for _, rows in batches)]
    now = torch.cat(encoded)  # the texts in the order in which they were encoded
    vectors = torch.cat(parts)[send(now.argsort(), device)]
    if not passages:
        return Encoded(vectors, nothing, torch.zeros_like(counts))
    places = send(restored_order(counts - all_hidden, now), device)
    return Encoded(vectors, torch.cat(of_passages)[places], passage_counts(subwords, counts))


def side_by_side(work: Callable[[Any], Any], batches: Sequence[Any]) -> Iterable[Any]:
    """Apply a function that needs no gradients to batches on a CPU, in order.

    Each of PyTorch's threads takes a batch of its own. To share each product of small matrices
    takes a tenth longer.
    """
    threads = torch.get_num_threads()
    if threads == 1 or len(batches) < threads:
        return map(work, batches)
    inference = torch.is_inference_mode_enabled()

    def alone(batch: Any) -> Any:
        with torch.no_grad(), torch.inference_mode(inference):
            return work(batch)

    try:
        with ThreadPoolExecutor(threads, "encode", torch.set_num_threads, (1,)) as workers:
            return list(workers.map(alone, batches))
    finally:
        torch.set_num_threads(threads)  # MKL has one number for all


def cut(order: Tensor, counts: Tensor, most: int) -> Iterator[Tensor]:
    """Cut texts, ordered by length, into batches, without the empty ones.

    A batch has ``most`` tokens, or a single text. A longer text begins another batch where it would
    pad the texts before it with more than an eighth of that, as one of two windows would.
    """
    lengths = counts[order].tolist()
    start = sum(length == 0 for length in lengths)
    for stop in range(start + 1, len(lengths) + 1):
        if stop < len(lengths):
            texts, longest = stop - start, lengths[stop]
            padded = texts * (longest - lengths[stop - 1])
            if (texts + 1) * longest <= most and padded <= most // _PADDED:
                continue
        yield order[start:stop]
        start = stop
