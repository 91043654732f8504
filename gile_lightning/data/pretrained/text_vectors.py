"""What a pretrained model has computed of the documents of a split."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.data.pretrained.vectors import VectorStore


class TextVectors:
    """Vectors of documents, and of their passages, by the documents' numbers in their split.

    Args:
        store: has the vectors.
        rows: of the documents there [B]; None without vectors of documents.
        passages: rows of the passages in its store of these, and -1 after the last one of each
            document; None without passages.
    """

    def __init__(
        self,
        store: VectorStore,
        rows: NDArray[np.int64] | None = None,
        passages: NDArray[np.int64] | None = None,
    ) -> None:
        self.store, self.rows, self.passages = store, rows, passages
        if passages is not None:
            self.ends = np.flatnonzero(passages < 0)
            self.starts = np.append(0, self.ends[:-1] + 1)[: len(self.ends)]

    def __call__(self, numbers: NDArray[np.int64]) -> dict[str, Tensor]:
        """Return the fields of `Texts` for the documents with these numbers."""
        fields: dict[str, Tensor] = {}
        if self.rows is not None:
            fields["vectors"] = self.store.texts.take(self.rows[numbers])
        if self.passages is not None:
            starts = self.starts[numbers]
            counts = self.ends[numbers] - starts
            places = np.repeat(starts - counts.cumsum() + counts, counts) + np.arange(counts.sum())
            fields["passages"] = self.store.passages.take(self.passages[places])
            fields["passage_counts"] = torch.from_numpy(counts)
        return fields
