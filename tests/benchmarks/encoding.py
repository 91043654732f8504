"""Encoding a corpus, from its file to the shards, as it was and as it is.

python tests/benchmarks/report.py --only encoding

What is done once for each different part of a text counts with real abstracts, which have many. So
a second corpus has as many (`rare_words.py`).
"""

import gc
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import rare_words
import torch
import word_by_word

from gile_lightning.builtin import write_bioasq
from gile_lightning.data import BioASQ
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.shards import encoding
from gile_lightning.data.tokenizing.batch_splitter import BatchSplitter
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

CHUNK = 2_048


def encoded(cache: Path, path: str, num_proc: int, before: bool) -> bytes:
    """Encode a corpus anew; return its task, which has the vocabulary and the label set."""
    data = BioASQ(path, cache_dir=cache, num_proc=num_proc)
    shutil.rmtree(data.directory_of_shards(), ignore_errors=True)
    now = encoding.read_documents
    if before:
        encoding.read_documents = word_by_word.read_documents
    try:
        data.prepare_data()
    finally:
        encoding.read_documents = now
    return (data.directory_of_shards() / encoding.TASK).read_bytes()


def measure(
    rounds: int, documents: int = 12_000, rare: int = 6_500, path: str | None = None
) -> list[dict[str, object]]:
    """Measure encoding and its parts by turns; PyTorch and Arrow have one thread.

    Args:
        rounds: of each measurement.
        documents: of the built-in corpus.
        rare: documents of that with rare words.
        path: a folder in the format of BioASQ, in place of both.

    Returns:
        Documents per second, and the processor's microseconds per document: medians.
    """
    torch.set_num_threads(1)
    pyarrow.set_cpu_count(1)
    datasets.disable_progress_bars()
    if path is not None:
        return _measured(rounds, path, "")
    with tempfile.TemporaryDirectory() as folder:
        write_bioasq(Path(folder) / "builtin", documents)
        rare_words.write_corpus(Path(folder) / "rare", rare)
        rows = _measured(rounds, f"{folder}/builtin", "")
        return rows + _measured(rounds, f"{folder}/rare", "rare words: ")


def _measured(rounds: int, path: str, title: str) -> list[dict[str, object]]:
    """Measure one corpus; the tasks of all ways are compared."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        data = BioASQ(path, cache_dir=cache)
        data.prepare_data()
        data.label_texts(Skipped())
        read = list(data.documents(Skipped()))
        texts = [document.pieces for document in read]
        tokenizer = Tokenizer(["UNK"])
        gc.freeze()  # the documents that are kept here must not be looked through in between

        def split() -> None:
            splitter = BatchSplitter(tokenizer)
            for start in range(0, len(texts), CHUNK):
                splitter.split(texts[start : start + CHUNK])

        def split_before() -> None:
            shard = word_by_word.Shard()
            for document in read:
                shard.add(document, [0], tokenizer)

        programs: dict[str, Callable[[], Any]] = {
            "as it was": lambda: encoded(cache, path, 1, before=True),
            "one thread": lambda: encoded(cache, path, 1, before=False),
            "reading and splitting at once": lambda: encoded(cache, path, 2, False),
            "labels alone": lambda: data.label_texts(Skipped()),
            "reading alone": lambda: sum(1 for _ in data.documents(Skipped())),
            "splitting alone, as it was": split_before,
            "splitting alone": split,
        }
        wall: dict[str, list[float]] = {name: [] for name in programs}
        processor: dict[str, list[float]] = {name: [] for name in programs}
        results = set()
        for _ in range(rounds):
            for name, program in programs.items():
                start, used = time.perf_counter(), time.process_time()
                result = program()
                wall[name].append(time.perf_counter() - start)
                processor[name].append(time.process_time() - used)
                results |= {result} if isinstance(result, bytes) else set()
    gc.unfreeze()
    if len(results) != 1:
        raise RuntimeError("the ways of encoding do not agree")
    median = {name: statistics.median(each) for name, each in wall.items()}
    twins = {
        "one thread": "as it was",
        "reading and splitting at once": "as it was",
        "splitting alone": "splitting alone, as it was",
    }
    return [
        {
            "encoding": title + name,
            "documents/s": len(read) / median[name],
            "x as it was": median[twins[name]] / median[name] if name in twins else None,
            "us of the processor each": statistics.median(processor[name]) / len(read) * 1e6,
            "least": min(processor[name]) / len(read) * 1e6,
        }
        for name in programs
    ]
