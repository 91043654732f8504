"""Encoding as it was before Arrow split the texts: by document, with `re` and a dictionary.

`read_documents` here takes the place of that of the package. It has no processes of its own.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from gile_lightning.common.progress import track
from gile_lightning.data.document import SPLITS, Document
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.shards.id_set import IdSet
from gile_lightning.data.shards.raw_shard import RawShard, write_table
from gile_lightning.data.shards.text_splitting import SHARD
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

CODES = {split: i for i, split in enumerate(SPLITS)} | {"": -1}


class Lists:
    """A column of lists that grows."""

    def __init__(self) -> None:
        self.values, self.lengths = array("i"), array("i")

    def arrow(self) -> pa.ListArray:
        offsets = np.cumsum([0, *self.lengths]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.array(self.values, "i")))


class Shard:
    """Documents with word ids that are local to the shard."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.splits: list[int] = []
        self.words, self.sentence_lengths, self.labels = Lists(), Lists(), Lists()
        self.local: defaultdict[str, int] = defaultdict()
        self.local.default_factory = self.local.__len__

    def add(self, document: Document, labels: list[int], tokenizer: Tokenizer) -> bool:
        sentences = tokenizer.split(document.pieces)
        if not sentences:
            return False
        local, before = self.local.__getitem__, len(self.words.values)
        for words in sentences:
            self.words.values.fromlist(list(map(local, words)))
            self.sentence_lengths.values.append(len(words))
        self.words.lengths.append(len(self.words.values) - before)
        self.sentence_lengths.lengths.append(len(sentences))
        self.labels.values.extend(labels)
        self.labels.lengths.append(len(labels))
        self.ids.append(document.id)
        self.splits.append(CODES[document.split])
        return True

    def write(self, directory: Path, number: int) -> RawShard:
        path = directory / f"raw-{number:05}.arrow"
        columns = {name: getattr(self, name).arrow() for name in ("words", "sentence_lengths")}
        columns = {"id": pa.array(self.ids, pa.string()), **columns}
        write_table(path, pa.table(columns | {"labels": self.labels.arrow()}))
        words = path.with_suffix(".words")
        words.write_text("\n".join(self.local), encoding="utf-8")
        return RawShard(path, words, np.array(self.splits, np.int8))


def read_documents(
    documents: Iterable[Document],
    labels: Sequence[str],
    directory: Path,
    tokenizer: Tokenizer,
    skipped: Skipped,
    total: int | None = None,
    num_proc: int = 1,
) -> Iterator[RawShard]:
    """Write documents into raw shards."""
    label_ids = {name: i for i, name in enumerate(labels)}
    read_before = IdSet()
    shard = Shard()
    number = 0
    for document in track(documents, "encoding", total, "documents"):
        if document.id in read_before:
            skipped.add("documents with an id that came before", document.where)
            continue
        undescribed = [name for name in document.labels if name not in label_ids]
        skipped.add(
            "assignments of labels without a description or unknown",
            document.where,
            len(undescribed),
        )
        ids = list(dict.fromkeys(label_ids[x] for x in document.labels if x in label_ids))
        if not ids:
            skipped.add("documents without a described label", document.where)
        elif not shard.add(document, ids, tokenizer):
            skipped.add("documents without a word", document.where)
        else:
            read_before.add(document.id)
        if len(shard.ids) == SHARD:
            yield shard.write(directory, number)
            shard = Shard()
            number += 1
    if shard.ids:
        yield shard.write(directory, number)
