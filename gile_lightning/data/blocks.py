"""Encoded documents on a remote file system, in blocks that are fetched with one range read each.

To fetch single documents at random takes a round trip for each of them. So documents are shuffled
in two steps: blocks are permuted and cut into windows of several blocks, and the documents of a
window are permuted. Batches are gathered from the window that is held, while a thread fetches the
next one.
"""

import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gile_lightning.data.folder import Folder
from gile_lightning.data.ragged import SUBWORDS, RaggedBatch, batch_from_arrow
from gile_lightning.data.rows import Rows, columns_of
from gile_lightning.data.shards import SPLITS
from gile_lightning.errors import InputError

META = "meta.json"  # written last: without it a corpus is not complete
INCOMPLETE = "incomplete"
BLOCK = 1_000  # documents; 0.3 to 3 MB, which take about as long as the round trip
WINDOW = 16  # blocks

Place = tuple[str, int, int]  # file, and where in it a block starts and stops, in bytes


def move_to(remote: Folder, folder: Path, meta: dict[str, Any]) -> None:
    """Move an encoded corpus to a remote folder; its shards become blocks.

    Every block has `BLOCK` documents but the last one of a split. What comes last is `META`, with
    ``meta`` and the blocks' places by split, and a file `INCOMPLETE` is removed.
    """
    places = {split: _move_split(split, remote, folder) for split in SPLITS}
    for file in sorted(folder.iterdir()):
        remote.copy(file)
        file.unlink()
    meta = meta | {"blocks": {split: place for split, place in places.items() if place}}
    remote.write(META, json.dumps(meta, default=str).encode())
    remote.remove(INCOMPLETE)
    folder.rmdir()


def _move_split(split: str, remote: Folder, folder: Path) -> dict[str, Any]:
    files = sorted(folder.glob(f"{split}-*.arrow"))
    subwords = any(_has_subwords(file) for file in files[:1])
    schema = _schema(subwords)
    rest = schema.empty_table()
    places: list[Place] = []
    documents = 0
    for file in files:
        with pa.OSFile(str(file)) as stream:
            table = pa.ipc.open_stream(stream).read_all().select(schema.names)
        documents += table.num_rows
        rest = pa.concat_tables([rest, table])
        size = rest.num_rows if file is files[-1] else rest.num_rows // BLOCK * BLOCK
        content, ends = _serialized(rest.slice(0, size))
        remote.write(file.name, content)
        places += [(file.name, start, stop) for start, stop in pairwise(ends)]
        rest = rest.slice(size)
        file.unlink()
    if not files:
        return {}
    more = {"subwords": True} if subwords else {}
    return {"documents": documents, "size": BLOCK, "places": places, **more}


def _schema(subwords: bool) -> pa.Schema:
    columns = columns_of([SUBWORDS] if subwords else [])
    return pa.schema([(name, pa.list_(pa.int32())) for name in columns])


def _has_subwords(file: Path) -> bool:
    with pa.OSFile(str(file)) as stream:
        return SUBWORDS in pa.ipc.open_stream(stream).schema.names


def _serialized(table: pa.Table) -> tuple[bytes, list[int]]:
    """Return an Arrow stream of blocks, and where the first starts and where each one ends."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        ends = [table.schema.serialize().size]  # which the stream begins with
        for start in range(0, table.num_rows, BLOCK):
            block = table.slice(start, BLOCK).combine_chunks()
            writer.write_batch(block.to_batches()[0])
            ends.append(sink.tell())
    return sink.getvalue().to_pybytes(), ends


class Blocks(Rows):
    """The documents of a split, in the blocks of a remote folder.

    Args:
        remote: the folder.
        places: where each block is.
        size: documents of every block but the last.
        documents: how many there are in all.
        chosen: those that are used, in rising order; by default all.
        subwords: whether the documents have subwords too.
    """

    def __init__(
        self,
        remote: Folder,
        places: Sequence[Place],
        size: int,
        documents: int,
        chosen: NDArray[np.int64] | None = None,
        subwords: bool = False,
    ) -> None:
        self.remote = remote
        self.places = places
        self.size = size
        self.documents = documents
        self.chosen = chosen
        self.subwords = subwords
        self._schema = _schema(subwords)

    def __len__(self) -> int:
        return self.documents if self.chosen is None else len(self.chosen)

    def select(self, rows: NDArray[np.int64]) -> "Blocks":
        """Return some of the documents, in the order of the blocks."""
        chosen = np.sort(self._stored(rows))
        args = (self.remote, self.places, self.size, self.documents)
        return Blocks(*args, chosen, self.subwords)

    def permutation(self, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return every document once: windows in random order, random within."""
        return self._by_window(np.arange(len(self)), generator)

    def draws(self, generator: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return ``size`` documents drawn with replacement, window by window.

        Every block that has one of them is fetched, so few draws from many documents are costly.
        """
        return self._by_window(generator.integers(len(self), size=size), generator)

    def batches(self, numbers: Iterable[NDArray[np.int64]]) -> Generator[RaggedBatch, None, None]:
        """Gather one batch after the other from the window held; a thread fetches the next."""
        windows = _windows((self._stored(rows) for rows in numbers), self.size)
        starts = np.zeros(len(self.places), dtype=np.int64)  # of the blocks held, in the table
        held: dict[int, pa.Table] = {}
        with ThreadPoolExecutor(1, "blocks") as thread:
            window = next(windows, None)
            new = thread.submit(self._fetch, window[1]) if window else None
            while window is not None and new is not None:
                gathered, needed = window
                held = {block: held[block] for block in held.keys() & needed} | new.result()
                window = next(windows, None)
                new = thread.submit(self._fetch, window[1] - needed) if window else None
                # a process may have no document at all
                table = pa.concat_tables(
                    [self._schema.empty_table(), *held.values()]
                ).combine_chunks()
                for block, end in zip(held, accumulate(map(len, held.values())), strict=True):
                    starts[block] = end - len(held[block])
                for rows in gathered:
                    places = starts[rows // self.size] + rows % self.size
                    yield batch_from_arrow(table.take(pa.array(places)))

    def _stored(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return rows if self.chosen is None else self.chosen[rows]

    def _by_window(
        self, rows: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        windows = generator.permutation(len(self.places)) // WINDOW
        rows = generator.permutation(rows)
        return rows[np.argsort(windows[self._stored(rows) // self.size], kind="stable")]

    def _fetch(self, blocks: Iterable[int]) -> dict[int, pa.Table]:
        numbers = sorted(blocks)
        contents = self.remote.read_ranges([self.places[number] for number in numbers])
        return {n: self._read(n, content) for n, content in zip(numbers, contents, strict=True)}

    def _read(self, number: int, content: bytes) -> pa.Table:
        try:
            block = pa.ipc.read_record_batch(pa.py_buffer(content), self._schema)
        except (pa.ArrowInvalid, OSError) as error:
            name, start, _ = self.places[number]
            raise InputError(
                f"{self.remote.url}/{name}: broken at byte {start:,} ({error}); delete the folder "
                "and prepare the corpus again"
            ) from error
        return pa.Table.from_batches([block])


def _windows(
    batches: Iterable[NDArray[np.int64]], size: int
) -> Iterator[tuple[list[NDArray[np.int64]], set[int]]]:
    """Cut batches of documents into runs; yield each with the blocks (of ``size``) it needs.

    A run needs `WINDOW` blocks beside those that the run before it needs too (or one batch more).
    """
    run: list[NDArray[np.int64]] = []
    needed: set[int] = set()
    before: set[int] = set()
    for rows in batches:
        blocks = set(np.unique(rows // size).tolist())
        if run and len((needed | blocks) - before) > WINDOW:
            yield run, needed
            run, before, needed = [], needed, set()
        run.append(rows)
        needed |= blocks
    if run:
        yield run, needed
