"""The first pass over a corpus: documents become raw shards."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from gile_lightning.common.disk import tell_space
from gile_lightning.common.progress import track
from gile_lightning.data.document import Document
from gile_lightning.data.formats.line_count import Total
from gile_lightning.data.formats.skipped import WITHOUT_LABEL, WITHOUT_WORD, Skipped
from gile_lightning.data.formats.unknown_labels import UnknownLabels
from gile_lightning.data.shards.id_set import IdSet
from gile_lightning.data.shards.raw_shard import RawShard, write_raw
from gile_lightning.data.shards.shard import Shard
from gile_lightning.data.shards.text_splitting import split_texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

_REMEDY = "set data.cache_dir to another disk"


def read_documents(
    documents: Iterable[Document],
    labels: Sequence[str],
    directory: Path,
    tokenizer: Tokenizer,
    skipped: Skipped,
    total: Total | None = None,
    num_proc: int = 0,
) -> Iterator[RawShard]:
    """Write documents into raw shards.

    Args:
        documents: the raw documents, streamed once.
        labels: the names of the labels that count; a label's id is its place here.
        directory: an existing folder.
        tokenizer: splits texts into words.
        skipped: counts what is left out.
        total: about how many documents there are, if known, for the progress bar.
        num_proc: whether texts are split while others are read; see `side_by_side`.
    """
    label_ids = {name: i for i, name in enumerate(labels)}
    unknown = UnknownLabels(label_ids)
    read_before = IdSet()
    shard: Shard | None = None
    number = read = 0
    count, exact = total or (None, True)
    shown = track(documents, "encoding", count, "documents", about=not exact)
    with closing(split_texts(shown, tokenizer, num_proc)) as stream:
        for chunk, columns, splitter in stream:
            if shard is not None and shard.splitter is not splitter:
                if shard.splits:
                    raw = write_raw(shard, directory, number)
                    if number == 0 and count is not None:
                        size = raw.path.stat().st_size * count / read
                        tell_space("encoded documents", size, directory.parent, _REMEDY)
                    yield raw
                    number += 1
                shard = None
            shard = shard or Shard(splitter, tokenizer)
            read += len(chunk)
            kept, kept_labels = [], []
            filled = np.diff(columns[0].offsets.to_numpy()).tolist()
            for place, document in enumerate(chunk):
                if document.id in read_before:
                    skipped.add("documents with an id that came before", document.where)
                    continue
                found = [label_ids.get(name, -1) for name in document.labels]
                for name, label in zip(document.labels, found, strict=True):
                    if label < 0:
                        skipped.add(unknown.reason(name), f"{document.where}: {name}")
                ids = [label for label in dict.fromkeys(found) if label >= 0]
                if not ids:
                    skipped.add(WITHOUT_LABEL, document.where)
                elif not filled[place]:
                    skipped.add(WITHOUT_WORD, document.where)
                else:
                    read_before.add(document.id)
                    kept.append(place)
                    kept_labels.append(ids)
            shard.add(chunk, columns, kept, kept_labels)
    if shard is not None and shard.splits:
        yield write_raw(shard, directory, number)
