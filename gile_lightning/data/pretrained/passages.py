"""Passages: the pieces of a text that have vectors of their own.

Each window that a model reads is cut into the fewest pieces of at most `PASSAGE` subwords, all
about as long. A prompt that pooling leaves out belongs to none of them. Other prompts and special
subwords do.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from gile_lightning.data.loading.flat import segment_ids, send
from gile_lightning.data.pretrained.subwords import NEXT

PASSAGE = 8  # subwords of a passage at most


def windows(subwords: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Count the subwords of each window, and the windows of each text [B].

    Args:
        subwords: ids [N], with `NEXT` between the windows of a text.
        counts: of the texts [B].
    """
    between = subwords == NEXT
    if not between.any():
        return counts, torch.ones_like(counts)
    texts = segment_ids(counts, subwords)
    per_text = torch.bincount(texts[between], minlength=len(counts)) + 1
    of_window = (texts + between.cumsum(0))[~between]
    return torch.bincount(of_window, minlength=int(per_text.sum())), per_text


def passage_counts(subwords: Tensor, counts: Tensor) -> Tensor:
    """Count the passages of each text [B]: none of a text without a subword."""
    sizes, per_text = windows(subwords, counts)
    own = subwords[subwords != NEXT]
    of_windows = _pieces(sizes - hidden_counts(own, sizes))
    return torch.zeros_like(counts).index_add_(0, segment_ids(per_text, sizes), of_windows)


def hidden_counts(subwords: Tensor, counts: Tensor) -> Tensor:
    """Count the first subwords of each window that pooling leaves out [B]."""
    windows = segment_ids(counts, subwords)
    return torch.zeros_like(counts).index_add_(0, windows, (subwords < 0).to(counts.dtype))


def means(outputs: Tensor, counts: Tensor, hidden: int = 0) -> Tensor:
    """Average the outputs of the subwords of each passage: [P, d] in float32, of length 1.

    Args:
        outputs: of the subwords of a batch of windows [b, n, d].
        counts: of the windows' subwords [b]; padding comes behind them.
        hidden: the number of first subwords that belong to no passage.
    """
    own = (counts - hidden).unsqueeze(1)
    pieces = _pieces(own)
    number = int(pieces.sum())
    places = torch.arange(outputs.shape[1], device=counts.device) - hidden
    passages = pieces.cumsum(0) - pieces + places * pieces // own.clamp(min=1)
    passages = passages.where((places >= 0) & (places < own), number)  # one more for all others
    passages = passages.flatten()
    sizes = torch.bincount(passages, minlength=number + 1)[:number]
    flat = outputs.float().flatten(0, 1)
    sums = flat.new_zeros(number + 1, flat.shape[1])
    sums.index_add_(0, send(passages, flat.device), flat)
    return F.normalize(sums[:number] / send(sizes, flat.device).unsqueeze(1))


def restored_order(counts: Tensor, order: Tensor) -> Tensor:
    """Return the places [P] of the passages of windows, in the windows' own order.

    Args:
        counts: of the windows' own subwords [B], without hidden ones.
        order: the windows [B] in the order in which their passages stand.
    """
    pieces = _pieces(counts)
    there = pieces[order]
    starts = torch.empty_like(pieces)
    starts[order] = there.cumsum(0) - there
    shifts = (starts - (pieces.cumsum(0) - pieces))[segment_ids(pieces)]
    return torch.arange(len(shifts), device=shifts.device) + shifts


def _pieces(sizes: Tensor) -> Tensor:
    """Return into how many passages windows of these sizes are cut."""
    return -(-sizes // PASSAGE)
