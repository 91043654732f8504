"""Rows of memory-mapped shards, gathered as ragged batches."""

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.data.loading.ragged import SUBWORDS, RaggedBatch, batch_from_arrow

if TYPE_CHECKING:
    from datasets import Dataset  # which takes a second to import

COLUMNS = ["words", "sentence_lengths", "labels"]


class MappedRows:
    """Encoded documents of a split in memory-mapped shards, numbered from 0.

    Args:
        dataset: the encoded documents.
    """

    def __init__(self, dataset: "Dataset") -> None:
        self.columns = [*COLUMNS, *({SUBWORDS} & set(dataset.column_names))]
        self.dataset = dataset.select_columns(self.columns).with_format("arrow")

    def __len__(self) -> int:
        return len(self.dataset)

    def batches(self, numbers: Iterable[NDArray[np.int64]]) -> Generator[RaggedBatch, None, None]:
        """Yield a batch of the documents with each array of numbers."""
        if self.dataset._indices is not None:  # a selection: documents lie anywhere
            yield from (batch_from_arrow(self.dataset[rows]) for rows in numbers)
            return
        columns = [_Lists(self.dataset.data.column(name)) for name in self.columns]
        for rows in numbers:
            parts = [column.take(rows) for column in columns]
            (words, _), (sentence_lengths, document_lengths), (label_ids, label_counts) = parts[:3]
            batch = RaggedBatch(
                words, sentence_lengths.long(), document_lengths, label_ids.long(), label_counts
            )
            for subwords, counts in parts[3:]:
                batch = batch._replace(subwords=subwords, subword_counts=counts)
            yield batch


class _Lists:
    """A list column as flat values and offsets, shard by shard.

    Each list is gathered by one slice. Arrow and `datasets` first build a table of every row, which
    takes several times as long.
    """

    def __init__(self, column: pa.ChunkedArray) -> None:
        chunks = column.chunks
        self.starts = np.cumsum([0, *map(len, chunks[:-1])])  # the first list of each shard
        self.shards = [(chunk.offsets.to_numpy(), chunk.values.to_numpy()) for chunk in chunks]

    def take(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return the values of some lists, one after the other, and the length of each."""
        of_rows = np.searchsorted(self.starts, rows, side="right") - 1
        places = zip(of_rows.tolist(), (rows - self.starts[of_rows]).tolist(), strict=True)
        lists = [np.empty(0, np.int32)]
        for shard, place in places:
            offsets, values = self.shards[shard]
            lists.append(values[offsets[place] : offsets[place + 1]])
        lengths = np.fromiter(map(len, lists[1:]), np.int64, len(rows))
        return torch.from_numpy(np.concatenate(lists)), torch.from_numpy(lengths)
