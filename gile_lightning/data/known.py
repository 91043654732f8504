"""What a trained model knows of the documents of its training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.data.document import SPLITS
from gile_lightning.data.tokenizing.label_set import LabelSet

KNOWN_DOCUMENTS = "known_documents"  # the key in what a checkpoint holds of a system


def _none() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class KnownDocuments:
    """The documents that trained, validated and tested a model, by their hashes.

    Where a corpus leaves open which documents test or validate, they keep their split; see
    `keep_splits`. One that trained a model may train it again, but does not count again.

    Attributes: sorted hashes; see `document_hashes`.
    """

    train: NDArray[np.int64] = field(default_factory=_none)
    validation: NDArray[np.int64] = field(default_factory=_none)
    test: NDArray[np.int64] = field(default_factory=_none)

    @classmethod
    def of(cls, extra: Mapping[str, Any] | None) -> dict[str, "KnownDocuments"]:
        """Return those that the state of a checkpoint holds, by language."""
        stored: Mapping[str, Mapping[str, Tensor]] = (extra or {}).get(KNOWN_DOCUMENTS, {})
        return {
            name: cls(**{split: hashes.numpy() for split, hashes in parts.items()})
            for name, parts in stored.items()
        }

    def with_others(self, others: Mapping[str, NDArray[np.int64]]) -> dict[str, Tensor]:
        """Return what a checkpoint holds: these documents and others, by split."""
        return {
            split: torch.from_numpy(np.union1d(getattr(self, split), others.get(split, _none())))
            for split in SPLITS
        }

    def splits(self, hashes: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the place in `SPLITS` of the split of each of B documents: [B]; -1 if unknown.

        A document that trained a model, and later tested one that went on, has trained.
        """
        found = np.full(len(hashes), -1, np.int8)
        for place in reversed(range(len(SPLITS))):
            of_split = getattr(self, SPLITS[place])
            if len(of_split):
                places = np.searchsorted(of_split, hashes).clip(max=len(of_split) - 1)
                found[of_split[places] == hashes] = place
        return found

    def state(self) -> list[list[int]]:
        """Return plain values, for the cache key."""
        parts = (getattr(self, split) for split in SPLITS)
        return [[len(part), int(np.bitwise_xor.reduce(part, initial=0))] for part in parts]


@dataclass(frozen=True)
class Known:
    """The labels that a model knows that is trained further, in one language.

    Attributes:
        labels: its labels and their training documents.
        corpus: the key of its encoded corpus in the cache, from which documents are replayed; empty
            if unknown.
        before: its labels before `data.label_changes`, as the encoded corpus has them.
    """

    labels: LabelSet
    corpus: str = ""
    before: LabelSet | None = None

    def state(self) -> dict[str, Any]:
        """Return plain values, for the cache key."""
        before = None if self.before is None else self.before.names
        return {**self.labels.state(), "corpus": self.corpus, "before": before}
