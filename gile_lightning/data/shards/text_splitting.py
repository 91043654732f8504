"""Texts split into words by several processes, in order, with few documents in memory."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError
from gile_lightning.common.processes import cores
from gile_lightning.data.document import Document
from gile_lightning.data.shards.shard import Shard
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

CHUNK = 256  # documents that a process gets at a time
_WAITING = 4  # chunks per process that are read ahead

# Workers run regular expressions over strings and touch none of the locks that threads of this
# process may hold, so forking is safe. It costs nothing, where a fresh interpreter needs seconds
# and 500 MB to import the package. The libraries of macOS do not survive a fork.
START_METHOD = "fork" if sys.platform == "linux" else "spawn"


@dataclass
class SplitTexts:
    """The texts of a chunk as numbers: what a worker sends back.

    Attributes:
        vocabulary: every word once.
        words: [N] positions in the vocabulary.
        sentence_lengths: [S] in words.
        word_ends: [B + 1] where the words of each document end, from 0.
        sentence_ends: [B + 1] where its sentences end, from 0.
    """

    vocabulary: list[str]
    words: NDArray[np.int32]
    sentence_lengths: NDArray[np.int32]
    word_ends: list[int]
    sentence_ends: list[int]
    _shard: Shard | None = field(default=None, init=False, repr=False)
    _local: NDArray[np.int32] | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, documents: Iterable[list[list[str]]]) -> "SplitTexts":
        """Number the words of documents, which are lists of sentences of words."""
        ids: defaultdict[str, int] = defaultdict()
        ids.default_factory = ids.__len__
        words: list[int] = []
        lengths: list[int] = []
        word_ends, sentence_ends = [0], [0]
        for sentences in documents:
            for sentence in sentences:
                words.extend(map(ids.__getitem__, sentence))
                lengths.append(len(sentence))
            word_ends.append(len(words))
            sentence_ends.append(len(lengths))
        return cls(
            list(ids), np.array(words, np.int32), np.array(lengths, np.int32), word_ends,
            sentence_ends,
        )  # fmt: skip

    def document(self, number: int, shard: Shard) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return a document's words [N] with a shard's own ids, and its sentences' lengths [S]."""
        if self._shard is not shard or self._local is None:
            local = map(shard.local.__getitem__, self.vocabulary)
            self._shard = shard
            self._local = np.fromiter(local, np.int32, len(self.vocabulary))[self.words]
        words = slice(self.word_ends[number], self.word_ends[number + 1])
        sentences = slice(self.sentence_ends[number], self.sentence_ends[number + 1])
        return self._local[words], self.sentence_lengths[sentences]


def processes(num_proc: int) -> int:
    """Return how many processes ``num_proc`` means: 0 is one per core that may be used.

    Raises:
        InputError: it is negative.
    """
    if num_proc < 0:
        raise InputError(f"num_proc is {num_proc}; give a number of processes, or 0 for all cores")
    return num_proc or cores()


def split_texts(
    documents: Iterable[Document], tokenizer: Tokenizer, num_proc: int
) -> Iterator[tuple[Document, SplitTexts, int]]:
    """Yield every document, in order, with the split texts of its chunk and its number there.

    An error of ``documents`` is raised after the documents before it, as without processes.

    Raises:
        InputError: a process was killed.
    """
    context = multiprocessing.get_context(START_METHOD)
    pool = ProcessPoolExecutor(num_proc, context, _start, (tokenizer,))
    waiting: deque[tuple[list[Document], Future[SplitTexts], Exception | None]] = deque()
    try:
        for chunk, error in _chunks(documents):
            with _interrupts_later():  # workers start at a submit
                future = pool.submit(_split, [document.pieces for document in chunk])
            waiting.append((chunk, future, error))
            if len(waiting) > _WAITING * num_proc:
                yield from _finished(*waiting.popleft())
        while waiting:
            yield from _finished(*waiting.popleft())
    except BrokenProcessPool as error:
        raise InputError(
            "a process that splits texts was killed, perhaps because memory ran out; set "
            f"--data.num_proc below {num_proc}"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _chunks(documents: Iterable[Document]) -> Iterator[tuple[list[Document], Exception | None]]:
    """Yield chunks of documents, the last one with the error that ended them."""
    chunk: list[Document] = []
    end = None
    try:
        for document in documents:
            chunk.append(document)
            if len(chunk) == CHUNK:
                yield chunk, None
                chunk = []
    except Exception as error:  # of the corpus; raised after the documents before it
        end = error
    yield chunk, end


def _finished(
    chunk: list[Document], future: "Future[SplitTexts]", error: Exception | None
) -> Iterator[tuple[Document, SplitTexts, int]]:
    split = future.result()
    for number, document in enumerate(chunk):
        yield document, split, number
    if error is not None:
        raise error


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold Ctrl-C back: a process that starts meanwhile gets none before it can ignore it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_tokenizer: Tokenizer  # of a worker


def _start(tokenizer: Tokenizer) -> None:
    global _tokenizer
    _tokenizer = tokenizer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that reads
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End when the parent is killed, instead of waiting for work and holding the cache's lock."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _split(texts: Sequence[Sequence[str | list[str]]]) -> SplitTexts:
    return SplitTexts.of(map(_tokenizer.split, texts))
