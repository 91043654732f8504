"""What a trained model knows of its documents and labels."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.data.document import SPLITS
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

KNOWN_DOCUMENTS = "known_documents"  # the key in what a checkpoint holds of a system
WEIGHTS, UNUSED = "weights", "unused"
_PARTS = (*SPLITS, WEIGHTS, UNUSED)
BEGAN_WITH = _PARTS.index(WEIGHTS)


@dataclass(frozen=True)
class KnownDocuments:
    """The documents that trained, validated and tested a model, by their hashes.

    Where a corpus leaves open which documents test or validate, they keep their split; see
    `keep_splits`. One that trained a model may train it again, but does not count again.

    Attributes:
        hashes: sorted, by split; see `document_hashes`. ``weights`` are of documents that trained
            or validated another model, whose weights this one began with and of which it kept
            nothing else (``--keep false``). ``unused`` are training documents that ``train_share``
            left out: they count, and have trained nothing.
    """

    hashes: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    @classmethod
    def of(cls, extra: Mapping[str, Any] | None) -> dict[str, "KnownDocuments"]:
        """Return those that the state of a checkpoint holds, by language."""
        stored: Mapping[str, Mapping[str, Tensor]] = (extra or {}).get(KNOWN_DOCUMENTS, {})
        return {
            name: cls({part: hashes.numpy() for part, hashes in parts.items()})
            for name, parts in stored.items()
        }

    def stored(self) -> dict[str, Tensor]:
        """Return what a checkpoint holds."""
        return {part: torch.from_numpy(hashes) for part, hashes in self.hashes.items()}

    def of_weights(self) -> "KnownDocuments":
        """Return those of the weights alone, for a model that keeps nothing else."""
        others = [hashes for part, hashes in self.hashes.items() if part not in ("test", UNUSED)]
        return KnownDocuments({WEIGHTS: np.unique(np.concatenate(others))} if others else {})

    def joined(self, others: Mapping[str, NDArray[np.int64]]) -> "KnownDocuments":
        """Return these documents and others, by split."""
        parts = self.hashes.keys() | others.keys()
        both = {part: [own[part] for own in (self.hashes, others) if part in own] for part in parts}
        return KnownDocuments(
            {part: np.unique(np.concatenate(both[part])) for part in _PARTS if part in both}
        )

    def splits(self, hashes: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the place in `SPLITS` of the split of each of B documents: [B].

        -1 if it is unknown, and `BEGAN_WITH` if the weights alone know it. Whatever has trained a
        model counts as that, although it may have tested a later one.
        """
        found = np.full(len(hashes), -1, np.int8)
        for part in ("test", WEIGHTS, "validation", "train"):
            found[self._in(part, hashes)] = _PARTS.index(part)
        return found

    def counted(self, hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of B documents are in the frequencies of the model's labels already: [B]."""
        return self._in("train", hashes) | self._in(UNUSED, hashes)

    def _in(self, part: str, hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
        known = self.hashes.get(part)
        if known is None or not len(known):
            return np.zeros(len(hashes), bool)
        nearest = known[known.searchsorted(hashes).clip(max=len(known) - 1)]
        found: NDArray[np.bool_] = nearest == hashes
        return found

    def state(self) -> dict[str, list[int]]:
        """Return plain values, for the cache key."""
        return {
            part: [len(hashes), int(np.bitwise_xor.reduce(hashes, initial=0))]
            for part, hashes in self.hashes.items()
        }


@dataclass(frozen=True)
class Known:
    """What a model that is trained further knows of labels, in one language.

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


@dataclass(frozen=True)
class Predecessor:
    """The model that a corpus is encoded for, in one language; by default there is none.

    Attributes:
        trained: its vocabulary and labels, if it is to be scored. Then test documents alone are
            encoded, and labels that are new to it are unseen labels behind its own.
        tokenizer: one with its vocabulary, if it is to be trained further.
        known: what it knows of labels, if it is trained further and keeps them. Its labels stay,
            and their documents count beside those of the corpus.
        documents: those that it knows.
        new_words: whether words of labels that are new to it get ids of their own
            (`Task.with_labels`).
        labels: its labels, whose words have ids already, if it is to be trained further.
    """

    trained: Task | None = None
    tokenizer: Tokenizer | None = None
    known: Known | None = None
    documents: KnownDocuments | None = None
    new_words: bool = False
    labels: LabelSet | None = None

    def state(self) -> dict[str, Any]:
        """Return plain values, for the cache key."""
        tokenizer, documents = self.tokenizer, self.documents
        return {
            "trained_task": self.trained and self.trained.state(),
            "new_words": self.new_words and (self.trained or self.labels) is not None,
            **({"labels": self.labels.state()} if self.new_words and self.labels else {}),
            "tokenizer": tokenizer
            and [tokenizer.vocabulary, tokenizer.further, tokenizer.settings()],
            "known": self.known and self.known.state(),
            **({} if documents is None else {"known_documents": documents.state()}),
        }
