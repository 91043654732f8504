"""What a trained model knows of the documents of its training."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gile_lightning.data.tokenizing.label_set import LabelSet


@dataclass(frozen=True)
class Known:
    """What a model that is trained further knows, in one language.

    Attributes:
        labels: its labels and their training documents.
        documents: hashes of its training documents, sorted; see `document_hashes`. A document that
            the model knows trains it, but does not count again.
        corpus: the key of its encoded corpus in the cache, from which documents are replayed; empty
            if unknown.
        before: its labels before `data.label_changes`, as the encoded corpus has them.
    """

    labels: LabelSet
    documents: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    corpus: str = ""
    before: LabelSet | None = None

    def state(self) -> dict[str, Any]:
        """Return plain values, for the cache key."""
        hashes = [len(self.documents), int(np.bitwise_xor.reduce(self.documents, initial=0))]
        before = None if self.before is None else self.before.names
        return {**self.labels.state(), "hashes": hashes, "corpus": self.corpus, "before": before}

    def repeats(self, hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of some documents the model knows."""
        return np.isin(hashes, self.documents)
