"""The search for phrases in texts, by hashes of their words."""

from typing import NamedTuple

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.network.matchers.hierarchy import Hierarchy

_FACTOR = 0x2545F4914F6CDD1D  # odd: a word moves all higher bits of a phrase's key
_MIX = -0x61C8864680B583EB  # 2^64 over the golden ratio


class Phrases(NamedTuple):
    """The names and synonyms of a label set, and which K of its labels are scored.

    Shapes: ``keys`` [P] hashes of the phrases, sorted; ``beginnings`` [Q] hashes of what longer
    phrases begin with, sorted; ``labels`` [P] the label of each phrase; ``stems`` [V + new words];
    ``columns`` [all labels] the column of a label among those scored, or -1. ``longest`` is the
    number of words of the longest phrase, ``size`` is K. ``names`` [P] says which phrases are
    names, not synonyms; ``hierarchy`` is that of the labels. ``found`` are the documents, columns
    and features of labels that occur, where they were looked up ahead (`NameMention.features`).
    """

    keys: Tensor
    beginnings: Tensor
    labels: Tensor
    stems: Tensor
    columns: Tensor
    longest: int
    size: int
    names: Tensor
    hierarchy: Hierarchy
    found: tuple[Tensor, Tensor, Tensor] | None = None


def extend_keys(keys: Tensor, words: Tensor) -> Tensor:
    """Return the keys of phrases after one more word each; numbers wrap around."""
    keys = (keys ^ (words + 1) * _MIX) * _FACTOR
    return keys ^ (keys >> 29)


def find_phrases(
    words: Tensor, sentence_lengths: Tensor, phrases: Phrases
) -> tuple[Tensor, Tensor, Tensor]:
    """Find all occurrences of phrases within sentences.

    Args:
        words: stems [N].
        sentence_lengths: words of each sentence [S].
        phrases: the phrases to find.

    Returns:
        For H occurrences the place of the first word, the number of words, and the place of the
        phrase in ``phrases.keys``; shorter phrases first. A phrase of several labels occurs once
        for each label.
    """
    ends = sentence_lengths.cumsum(0)[segment_ids(sentence_lengths)]
    starts = torch.arange(len(words), device=words.device)
    keys = torch.zeros_like(starts)
    found = []
    for n in range(1, phrases.longest + 1):
        keys = extend_keys(keys, words[starts + n - 1])
        first, hits = _find(phrases.keys, keys)
        times = torch.searchsorted(phrases.keys, keys[hits], right=True) - first
        total = times.cumsum(0)
        which = torch.arange(int(total[-1]) if len(total) else 0, device=words.device)
        which += (first - total + times).repeat_interleave(times)
        found.append((starts[hits].repeat_interleave(times), torch.full_like(which, n), which))
        _, longer = _find(phrases.beginnings, keys)
        longer = longer[starts[longer] + n < ends[starts[longer]]]
        starts, keys = starts[longer], keys[longer]
    if not found:
        nothing = starts[:0]
        return nothing, nothing, nothing
    places, sizes, which = (torch.cat(columns) for columns in zip(*found, strict=True))
    return places, sizes, which


def _find(table: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Look keys up in a sorted table: the first places of those found, and which these are."""
    if not len(table):
        return keys[:0], keys[:0]
    places = torch.searchsorted(table, keys)
    found = (table[places.clamp(max=len(table) - 1)] == keys).nonzero().squeeze(1)
    return places[found], found


def inside_longer(starts: Tensor, sizes: Tensor, words: int) -> Tensor:
    """Tell for each of H occurrences whether it lies inside a longer one."""
    reach = starts.new_zeros(words + 1)
    reach.scatter_reduce_(0, starts, starts + sizes, "amax")
    before = reach.cummax(0).values.roll(1)  # how far occurrences that begin earlier reach
    before[0] = 0
    ends = starts + sizes
    return (before[starts] >= ends) | (reach[starts] > ends)


def largest(values: Tensor, starts: Tensor, sizes: Tensor, longest: int) -> Tensor:
    """Return the largest of the values [N] in each of H runs, of at most ``longest`` values."""
    found = values[starts]
    for n in range(1, longest):
        found = torch.maximum(found, values[starts + torch.clamp(sizes - 1, max=n)])
    return found
