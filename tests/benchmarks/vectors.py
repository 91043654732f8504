"""Vectors of a pretrained model in the cache: looking them up, and writing very many.

python tests/benchmarks/report.py --only vectors
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from measuring import highest_memory
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.data.pretrained import backends, keyed_vectors, vectors
from gile_lightning.data.pretrained.vectors import CHUNK, VectorStore

DIM, WORDS, BATCH = 384, 200, 64
Texts = tuple[NDArray[np.int32], NDArray[np.int64]]


def stand_in() -> None:
    """Let random vectors that depend on the text take the place of a model's."""

    def encode(name: str, subwords: Tensor, counts: Tensor, backend: str) -> Tensor:
        seeds = subwords[counts.cumsum(0) - counts].numpy()  # the first subword tells texts apart
        block = np.random.default_rng(7).standard_normal((CHUNK, DIM), dtype=np.float32)
        found = block[: len(seeds)] + seeds[:, None].astype(np.float32)
        return torch.from_numpy(found)

    backends.encode = encode
    backends.identity = lambda name, backend: "random"
    vectors.dimension = lambda name: DIM


def texts(number: int, words: int = WORDS) -> Iterator[Texts]:
    """Yield different texts of so many subwords, in batches."""
    for start in range(0, number, CHUNK):
        firsts = np.arange(start, min(start + CHUNK, number), dtype=np.int32)
        rows = np.repeat(firsts[:, None], words, axis=1)
        rows[:, 1:] = 1
        yield rows.ravel(), np.full(len(firsts), words, np.int64)


class ManyFiles:
    """The store as it was: a file for every `CHUNK` texts, and one opened for each that is needed.

    Args:
        folder: for the files.
        store: has the vectors.
        number: of the texts of `texts`, which are rows of the store in order.
    """

    def __init__(self, folder: Path, store: VectorStore, number: int) -> None:
        kind = np.dtype([("key", "S16"), ("vector", np.float32, DIM)])
        keys, places, self.files = [], [], []
        for place, (subwords, counts) in enumerate(texts(number)):
            content = np.empty(len(counts), kind)
            content["key"] = [vectors._key(x) for x in np.split(subwords, len(counts))]
            content["vector"] = store.find(subwords, counts).numpy()
            self.files.append(folder / f"{place:07}.npy")
            np.save(self.files[-1], content)
            keys.append(content["key"])
            places += [(place, row) for row in range(len(counts))]
        order = np.concatenate(keys).argsort()
        self.keys, self.places = np.concatenate(keys)[order], np.array(places)[order]

    def find(self, subwords: NDArray[np.int32], counts: NDArray[np.int64]) -> Tensor:
        """Return the vectors [B, d] of texts."""
        found = np.zeros((len(counts), DIM), np.float32)
        rows = np.split(subwords, counts.cumsum()[:-1])
        keys = np.array([vectors._key(row) for row in rows], dtype="S16")
        places = self.places[self.keys.searchsorted(keys)]
        for number in np.unique(places[:, 0]):
            own = np.flatnonzero(places[:, 0] == number)
            mapped = np.load(self.files[number], mmap_mode="r")
            found[own] = mapped["vector"][places[own, 1]]
        return torch.from_numpy(found)


def look_up(rounds: int, stored: int, steps: int = 50) -> list[dict[str, object]]:
    """Measure the milliseconds of a step of `BATCH` texts drawn from all."""
    draw = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        store = VectorStore("random", Path(folder))
        rows = store.fill(texts(stored), mark="all")
        before = ManyFiles(Path(folder), store, stored)
        seconds: dict[str, list[float]] = {}
        for _ in range(rounds * steps):
            numbers = draw.integers(stored, size=BATCH)
            words = np.ones((BATCH, WORDS), np.int32)
            words[:, 0] = numbers
            text = words.ravel(), np.full(BATCH, WORDS, np.int64)
            ways: dict[str, Callable[[], Tensor]] = {
                "a file for every 1,024 texts, as it was": lambda text=text: before.find(*text),
                "one file, by the text": lambda text=text: store.find(*text),
                "one file, by the row": lambda numbers=numbers: store.texts.take(rows[numbers]),
            }
            found = []
            for name, way in ways.items():
                start = time.perf_counter()
                found.append(way())
                seconds.setdefault(name, []).append(time.perf_counter() - start)
            if not all(torch.equal(found[0], other) for other in found):
                raise RuntimeError("the ways find different vectors")
    median = {name: statistics.median(each) for name, each in seconds.items()}
    first = next(iter(median.values()))
    return [
        {"vectors": name, "ms/step": each * 1e3, "x as it was": first / each}
        for name, each in median.items()
    ]


def write_all(folder: Path, number: int) -> None:
    """Write the vectors of so many texts, in a process of its own; print peak memory in MiB."""
    before = highest_memory()
    store = VectorStore("random", folder)
    known = len(store.texts)
    start = time.perf_counter()
    rows = store.fill(texts(number, 4), mark="all")
    seconds = time.perf_counter() - start
    peak = highest_memory()
    for first in range(0, number, CHUNK):  # each is that of its text, to the last bit
        numbers = np.arange(first, min(first + CHUNK, number))
        words = np.ones((len(numbers), 4), np.int32)
        words[:, 0] = numbers
        found = store.texts.take(rows[numbers])
        residue = found - torch.from_numpy(numbers.astype(np.float32))[:, None]
        if not (residue.abs() < 8).all():
            raise RuntimeError("a text has the vector of another one")
    print(known, len(store.texts), seconds, before, peak)


def written(number: int) -> list[dict[str, object]]:
    """Write many vectors at once, and again with a kill in the middle; the files must be equal."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        contents = []
        for name, kill in (("unbroken", False), ("after a kill", True)):
            cache = Path(folder) / str(kill)
            file = cache / "vectors/random" / keyed_vectors.VECTORS["float32"]
            command = [sys.executable, __file__, str(cache), str(number)]
            if kill:
                child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
                while not file.exists() or file.stat().st_size < number * DIM * 4 // 3:
                    if child.poll() is not None:
                        break
                    time.sleep(0.001)
                os.kill(child.pid, signal.SIGKILL)
                child.wait()
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            known, stored, seconds, before, peak = map(float, out.split())
            contents.append([_hash(file), _hash(file.with_name(keyed_vectors.KEYS))])
            rows.append(
                {
                    "vectors": f"{number:,} written, {name}",
                    "there before": int(known),
                    "seconds": seconds,
                    "vectors/s": (stored - known) / seconds,
                    "MiB after imports": before,
                    "peak MiB": peak,
                }
            )
            file.unlink()
    if contents[0] != contents[1]:
        raise RuntimeError("the files after a kill are others")
    return rows


def _hash(file: Path) -> bytes:
    import hashlib

    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def measure(rounds: int, stored: int = 65_536, number: int = 1_000_000) -> list[dict[str, object]]:
    """Return the milliseconds of looking up; and, if ``number``, the figures of writing so many."""
    before = backends.encode, backends.identity, vectors.dimension
    stand_in()
    try:
        return look_up(rounds, stored) + (written(number) if number else [])
    finally:
        backends.encode, backends.identity, vectors.dimension = before


if __name__ == "__main__":
    stand_in()
    write_all(Path(sys.argv[1]), int(sys.argv[2]))
