"""The first pass over a corpus: documents become raw shards."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from gile_lightning.common.progress import track
from gile_lightning.data.document import Document
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.shards.id_set import IdSet
from gile_lightning.data.shards.raw_shard import RawShard, write_raw
from gile_lightning.data.shards.shard import SHARD, Shard
from gile_lightning.data.shards.text_splitting import SplitTexts, processes, split_texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer


def read_documents(
    documents: Iterable[Document],
    labels: Sequence[str],
    directory: Path,
    tokenizer: Tokenizer,
    skipped: Skipped,
    total: int | None = None,
    num_proc: int = 1,
) -> Iterator[RawShard]:
    """Write documents into raw shards.

    Args:
        documents: the raw documents, streamed once.
        labels: the names of the labels that count; a label's id is its place here.
        directory: an existing folder.
        tokenizer: splits texts into words.
        skipped: counts what is left out.
        total: number of documents, if known, for the progress bar.
        num_proc: processes that split texts; see `processes`.
    """
    label_ids = {name: i for i, name in enumerate(labels)}
    read_before = IdSet()
    shard = Shard(tokenizer)
    number = 0
    shown = track(documents, "encoding", total, "documents")
    with closing(_split(shown, tokenizer, processes(num_proc))) as stream:
        for document, add in stream:
            if document.id in read_before:
                skipped.add("documents with an id that came before", document.where)
                continue
            undescribed = [name for name in document.labels if name not in label_ids]
            skipped.add("label assignments without a description", document.where, len(undescribed))
            ids = list(dict.fromkeys(label_ids[x] for x in document.labels if x in label_ids))
            if not ids:
                skipped.add("documents without a described label", document.where)
            elif not add(shard, ids):
                skipped.add("documents without a word", document.where)
            else:
                read_before.add(document.id)
            if len(shard.ids) == SHARD:
                yield write_raw(shard, directory, number)
                shard = Shard(tokenizer)
                number += 1
    if shard.ids:
        yield write_raw(shard, directory, number)


def _split(
    documents: Iterable[Document], tokenizer: Tokenizer, num_proc: int
) -> Generator[tuple[Document, Callable[[Shard, list[int]], bool]], None, None]:
    """Yield every document with the function that adds it and its labels to a shard."""
    if num_proc == 1:
        for document in documents:
            yield document, partial(_add, tokenizer, document)
        return
    for document, split, number in split_texts(documents, tokenizer, num_proc):
        yield document, partial(_add_split, split, number, document)


def _add(tokenizer: Tokenizer, document: Document, shard: Shard, labels: list[int]) -> bool:
    return shard.add(document, labels, tokenizer)


def _add_split(
    split: SplitTexts, number: int, document: Document, shard: Shard, labels: list[int]
) -> bool:
    return shard.add_ids(document, labels, *split.document(number, shard))
