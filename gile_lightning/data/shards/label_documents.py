"""The texts of labels as training documents."""

import numpy as np
import pyarrow as pa

from gile_lightning.data.document import Document
from gile_lightning.data.shards.raw_shard import with_ids
from gile_lightning.data.shards.shard import Shard
from gile_lightning.data.shards.text_splitting import split_texts
from gile_lightning.data.tokenizing.task import Task


def label_documents(task: Task, schema: pa.Schema, most: int, seed: int) -> pa.Table:
    """Return texts of labels seen in training as documents, each of which has its label.

    They count for no frequency of labels or words. A text without a known word is left out.

    Args:
        task: tokenizer and label set.
        schema: of the other training documents.
        most: how many; where there are more labels they are drawn.
        seed: draws them.
    """
    tokenizer, labels = task.tokenizer, task.labels
    drawn = np.sort(np.random.default_rng(seed).permutation(labels.seen)[:most]).tolist()
    documents = (
        Document("", f"label: {name}", [text], [name], "train")
        for name, text in ((labels.names[label], labels.texts[label]) for label in drawn)
    )
    shards: list[Shard] = []
    for chunk, columns, splitter in split_texts(documents, tokenizer, num_proc=1):
        if not shards or shards[-1].splitter is not splitter:
            shards.append(Shard(splitter, tokenizer))
        filled = np.flatnonzero(np.diff(columns[0].offsets.to_numpy())).tolist()
        own = [[labels.ids[chunk[place].labels[0]]] for place in filled]
        shards[-1].add(chunk, columns, filled, own)
    tables = [
        with_ids(shard.table(), "words", np.array(tokenizer.word_ids([*shard.splitter.words])))
        for shard in shards
    ]
    return pa.concat_tables(tables).select(schema.names).cast(schema).combine_chunks()
