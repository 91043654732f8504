"""Documents split into words, chunk by chunk, while the next ones are read."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa

from gile_lightning.common.errors import InputError
from gile_lightning.common.processes import cores
from gile_lightning.data.document import Document
from gile_lightning.data.tokenizing.batch_splitter import BatchSplitter
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

SHARD = 32_768  # documents; about 30 MB of word ids
CHUNK = 2_048  # documents that are split at once
CHARACTERS = 4_000_000  # or as many as have so many characters, so that books take no more memory

Columns = tuple[pa.ListArray, pa.ListArray]


def side_by_side(num_proc: int) -> bool:
    """Return whether ``num_proc`` means that texts are split while the next ones are read.

    Raises:
        InputError: it is negative.
    """
    if num_proc < 0:
        raise InputError(f"num_proc is {num_proc}; give 1 or 2, or 0 for what the cores allow")
    return (num_proc or cores()) > 1


def split_texts(
    documents: Iterable[Document], tokenizer: Tokenizer, num_proc: int
) -> Generator[tuple[list[Document], Columns, BatchSplitter], None, None]:
    """Yield the documents in chunks, in order, with the columns of `BatchSplitter.split`.

    There is a new splitter, which numbers words from 0, after every `SHARD` documents. Arrow
    splits texts without Python's lock, so a second thread does it while this one reads.

    Args:
        documents: the raw documents.
        tokenizer: what is a word.
        num_proc: see `side_by_side`.
    """
    chunks = _chunks(documents, tokenizer)
    if not side_by_side(num_proc):
        yield from ((chunk, splitter.split(pieces), splitter) for chunk, pieces, splitter in chunks)
        return
    before: tuple[list[Document], Future[Columns], BatchSplitter] | None = None
    with ThreadPoolExecutor(1) as thread:
        for chunk, pieces, splitter in chunks:
            now = chunk, thread.submit(splitter.split, pieces), splitter
            if before is not None:
                yield before[0], before[1].result(), before[2]
            before = now
        if before is not None:
            yield before[0], before[1].result(), before[2]


def _chunks(
    documents: Iterable[Document], tokenizer: Tokenizer
) -> Iterator[tuple[list[Document], list[Sequence[str | list[str]]], BatchSplitter]]:
    """Yield chunks of documents, their texts, and the splitter of their shard."""
    splitter, read, characters = BatchSplitter(tokenizer), 0, 0
    chunk: list[Document] = []
    for document in documents:
        chunk.append(document)
        characters += sum(map(len, document.pieces))
        full = read + len(chunk) == SHARD
        if full or len(chunk) == CHUNK or characters >= CHARACTERS:
            yield chunk, [document.pieces for document in chunk], splitter
            read = 0 if full else read + len(chunk)
            splitter = BatchSplitter(tokenizer) if full else splitter
            chunk, characters = [], 0
    if chunk:
        yield chunk, [document.pieces for document in chunk], splitter
