"""The texts of labels as training documents."""

import numpy as np
import pyarrow as pa

from gile_lightning.data.document import Document
from gile_lightning.data.shards.raw_shard import with_ids
from gile_lightning.data.shards.shard import Shard
from gile_lightning.data.tokenizing.batch_splitter import BatchSplitter
from gile_lightning.data.tokenizing.task import Task


def label_documents(task: Task, schema: pa.Schema, most: int, seed: int) -> pa.Table:
    """Return texts of labels seen in training as documents, each of which has its label.

    Args:
        task: tokenizer and label set.
        schema: of the other training documents.
        most: how many; where there are more labels they are drawn.
        seed: draws them.
    """
    tokenizer, labels = task.tokenizer, task.labels
    drawn = np.sort(np.random.default_rng(seed).permutation(labels.seen)[:most]).tolist()
    names, texts = ([of_labels[i] for i in drawn] for of_labels in (labels.names, labels.texts))
    documents = [
        Document("", f"label: {name}", [text], [name], "train")
        for name, text in zip(names, texts, strict=True)
    ]
    splitter = BatchSplitter(tokenizer)
    shard = Shard(splitter, tokenizer)
    columns = splitter.split([document.pieces for document in documents])
    shard.add(documents, columns, range(len(drawn)), [[label] for label in drawn])
    ids = np.array(tokenizer.word_ids(splitter.words), np.int32)
    return with_ids(shard.table(), "words", ids).select(schema.names).cast(schema)
