"""Labels above, below and beside others, and how many of them occur in a document."""

from typing import NamedTuple

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import gather_segments, segment_ids, segment_starts
from gile_lightning.data.tokenizing.label_set import LabelSet

RELATIVES = 3  # kinds of them


class Hierarchy(NamedTuple):
    """The labels right above each of L labels.

    Shapes: ``parents`` [E], flat: ids of labels, from L on of labels that the set lacks; ``counts``
    [L] of each label. ``size`` is one above the largest id.
    """

    parents: Tensor
    counts: Tensor
    size: int

    @classmethod
    def of(cls, labels: LabelSet) -> "Hierarchy":
        """Return the hierarchy of a label set."""
        ids = dict(labels.ids)
        above = [
            [
                ids.setdefault(parent, len(ids))
                for parent in dict.fromkeys(parents)
                if parent != name
            ]
            for name, parents in zip(labels.names, labels.parents, strict=True)
        ]
        counts = torch.tensor([len(some) for some in above], dtype=torch.long)
        flat = [label for some in above for label in some]
        return cls(torch.tensor(flat, dtype=torch.long), counts, len(ids))

    def occurring(self, documents: Tensor, labels: Tensor) -> Tensor:
        """Count the relatives of labels that occur in the same document.

        A sibling is another child of a parent. Who has two parents in common counts twice.

        Args:
            documents: of H occurrences of labels [H]. The same label may occur several times.
            labels: their ids [H].

        Returns:
            For each occurrence the parents, the children and the siblings of its label [H, 3].
        """
        pairs, of_pair = torch.unique(documents * self.size + labels, return_inverse=True)
        own, within = pairs % self.size, pairs - pairs % self.size
        counts = self.counts[own]
        child = segment_ids(counts)
        parents = gather_segments(self.parents, segment_starts(self.counts), self.counts, own)
        above = within[child] + parents
        families, family, children = torch.unique(above, return_inverse=True, return_counts=True)
        nothing = torch.zeros_like(pairs)
        found = [
            nothing.index_add(0, child, torch.isin(above, pairs).to(nothing)),
            nothing.clone(),
            nothing.index_add(0, child, children[family] - 1),
        ]
        if len(families):
            place = torch.searchsorted(families, pairs).clamp_(max=len(families) - 1)
            found[1] = children[place] * (families[place] == pairs)
        return torch.stack(found, 1)[of_pair]
