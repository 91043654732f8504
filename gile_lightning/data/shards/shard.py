"""A shard on its way to disk."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from gile_lightning.data.document import Document
from gile_lightning.data.loading.ragged import SUBWORDS
from gile_lightning.data.shards.text_splitting import Columns
from gile_lightning.data.tokenizing.batch_splitter import BatchSplitter
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

_TOGETHER = 256  # texts that are split into subwords at a time, on all cores


@dataclass
class Shard:
    """Documents with word ids that are local to the shard.

    Attributes:
        splitter: has numbered the words.
        tokenizer: splits documents into subwords too, if it has a pretrained model.
        splits: of the documents, in order.
    """

    splitter: BatchSplitter
    tokenizer: Tokenizer
    splits: list[str] = field(default_factory=list)
    _batches: list[pa.RecordBatch] = field(default_factory=list)

    def add(
        self,
        documents: Sequence[Document],
        columns: Columns,
        kept: Sequence[int],
        labels: Sequence[Sequence[int]],
    ) -> None:
        """Add documents of a chunk.

        Args:
            documents: those of the chunk.
            columns: their words and the lengths of their sentences.
            kept: the places of the documents that belong to the corpus.
            labels: the labels of each of these.
        """
        own = [documents[place] for place in kept]
        words, lengths = (column.take(pa.array(kept, pa.int32())) for column in columns)
        batch = {
            "id": pa.array([document.id for document in own], pa.string()),
            "words": words,
            "sentence_lengths": lengths,
            "labels": pa.array(labels, pa.list_(pa.int32())),
        }
        if self.tokenizer.pretrained is not None:
            batch[SUBWORDS] = self._subwords([document.pieces for document in own])
        self._batches.append(pa.record_batch(batch))
        self.splits.extend(document.split for document in own)

    def _subwords(self, texts: Sequence[Sequence[str | list[str]]]) -> pa.ListArray:
        found = [
            self.tokenizer.subwords(texts[start : start + _TOGETHER])
            for start in range(0, len(texts), _TOGETHER)
        ]
        values = np.concatenate([np.empty(0, np.int32), *(ids for ids, _ in found)])
        counts = np.concatenate([np.zeros(1, np.int64), *(counts for _, counts in found)])
        offsets = counts.cumsum().astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))

    def table(self) -> pa.Table:
        """Return the documents as an Arrow table, without their splits."""
        return pa.Table.from_batches(self._batches)
