"""Where a loader's documents lie: in which random order they are visited, and how they are read."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable

import numpy as np
import pyarrow as pa
from datasets import Dataset
from numpy.typing import NDArray

COLUMNS = ["words", "sentence_lengths", "labels"]


class Rows(ABC):
    """Encoded documents of a split, numbered from 0."""

    @abstractmethod
    def __len__(self) -> int:
        """How many documents there are."""

    @abstractmethod
    def permutation(self, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return every document once, in random order."""

    @abstractmethod
    def draws(self, generator: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return ``size`` documents drawn with replacement."""

    @abstractmethod
    def tables(self, batches: Iterable[NDArray[np.int64]]) -> Generator[pa.Table, None, None]:
        """Read one batch after the other, each with the columns `COLUMNS`."""


class MappedRows(Rows):
    """Documents in memory-mapped shards, any of which is near at hand.

    Args:
        dataset: encoded documents.
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset.select_columns(COLUMNS).with_format("arrow")

    def __len__(self) -> int:
        return len(self.dataset)

    def permutation(self, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return every document once, in random order."""
        return generator.permutation(len(self))

    def draws(self, generator: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return ``size`` documents drawn with replacement."""
        return generator.integers(len(self), size=size)

    def tables(self, batches: Iterable[NDArray[np.int64]]) -> Generator[pa.Table, None, None]:
        """Gather one batch after the other."""
        for rows in batches:
            yield self.dataset[rows]
