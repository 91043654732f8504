"""An encoded corpus in the cache."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from gile_lightning.data.document import SPLITS
from gile_lightning.data.shards.cache import META
from gile_lightning.data.shards.encoding import TASK
from gile_lightning.data.tokenizing.task import Task

if TYPE_CHECKING:
    from datasets import Dataset  # which takes a second to import

VECTORS = "vectors.npy"  # the word vectors that came with a corpus, beside its shards


class EncodedCorpus:
    """The shards of a corpus, mapped into memory.

    Attributes:
        meta: the counts of what was encoded and what was left out.
        task: tokenizer and label set.
        splits: the documents by the name of the split.

    Args:
        directory: a folder that `encode` has written.
        train_share: share of the training documents that is read. Smaller shares are subsets of
            larger ones.
        seed: draws them.

    Raises:
        FileNotFoundError: the folder is not complete.
    """

    def __init__(self, directory: Path, train_share: float = 1.0, seed: int = 0) -> None:
        import datasets  # which takes a second

        self.directory = directory
        self.meta = read_meta(directory)
        self.task = Task.load(directory / TASK)
        self.splits: dict[str, Dataset] = {}
        for split in SPLITS:
            files = sorted(directory.glob(f"{split}-*.arrow"))
            if files:
                shards = [datasets.Dataset.from_file(str(file)) for file in files]
                self.splits[split] = datasets.concatenate_datasets(shards)
        if train_share < 1 and "train" in self.splits:
            documents = self.splits["train"]
            order = np.random.default_rng(seed).permutation(len(documents))
            number = max(1, round(train_share * len(documents)))
            self.splits["train"] = documents.select(order[:number])
            self.meta["counts"]["training_documents_used"] = number

    def vectors(self) -> Tensor | None:
        """Return the word vectors [V, d] that came with the corpus, in the vocabulary's order."""
        file = self.directory / VECTORS
        return torch.from_numpy(np.load(file)) if file.is_file() else None


def read_meta(directory: Path) -> dict[str, Any]:
    """Read the counts of an encoded corpus.

    Raises:
        FileNotFoundError: the folder is not complete.
    """
    try:
        meta: dict[str, Any] = json.loads((directory / META).read_text())
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{directory}: not encoded; call prepare_data first") from error
    return meta
