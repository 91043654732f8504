"""Passages: the pieces of a text that have vectors of their own.

Each window that a model reads is cut into the fewest pieces of at most `PASSAGE` subwords, all
about as long.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from gile_lightning.data.loading.ragged import segment_ids, send
from gile_lightning.data.pretrained.subwords import NEXT

PASSAGE = 8  # subwords of a passage at most, special ones and those of a prompt among them


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
    texts = segment_ids(per_text, sizes)
    return torch.zeros_like(counts).index_add_(0, texts, _pieces(sizes))


def means(outputs: Tensor, counts: Tensor, hidden: int = 0) -> Tensor:
    """Average the outputs of the subwords of each passage: [P, d] in float32, of length 1.

    Args:
        outputs: of the subwords of a batch of windows [b, n, d].
        counts: of the windows' subwords [b]; padding comes behind them.
        hidden: the number of first subwords that count for no passage.
    """
    pieces = _pieces(counts)
    places = torch.arange(outputs.shape[1], device=counts.device)
    passages = (pieces.cumsum(0) - pieces).unsqueeze(1) + (
        places * pieces.unsqueeze(1) // counts.unsqueeze(1)
    )
    number = int(pieces.sum())
    counted = (places < counts.unsqueeze(1)) & (places >= hidden)
    passages = passages.where(counted, number).flatten()  # one more for all others
    sizes = torch.bincount(passages, minlength=number + 1)[:number].clamp_(min=1)
    flat = outputs.float().flatten(0, 1)
    sums = flat.new_zeros(number + 1, flat.shape[1]).index_add_(
        0, send(passages, flat.device), flat
    )
    return F.normalize(sums[:number] / send(sizes, flat.device).unsqueeze(1))


def regrouped(counts: Tensor, order: Tensor) -> Tensor:
    """Return which passages, of windows in another order, are those of the windows in theirs: [P].

    Args:
        counts: of the windows' subwords [B].
        order: the windows [B] in the order in which their passages stand.
    """
    pieces = _pieces(counts)
    there = pieces[order]
    starts = torch.empty_like(pieces)
    starts[order] = there.cumsum(0) - there
    owners = segment_ids(pieces)
    return (
        torch.arange(len(owners), device=owners.device)
        + (starts - (pieces.cumsum(0) - pieces))[owners]
    )


def _pieces(sizes: Tensor) -> Tensor:
    """Return into how many passages windows of these sizes are cut."""
    return -(-sizes // PASSAGE)
