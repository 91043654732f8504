"""Finished shards on disk, whose ids are still local to each of them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import SPLITS
from gile_lightning.data.shards.shard import Shard


class RawShard(NamedTuple):
    """A finished shard on disk.

    Attributes:
        path: the file of its table.
        words: the file of its word list.
        splits: [B] places of its documents' splits in `SPLITS`; -1 where the corpus says nothing.
    """

    path: Path
    words: Path
    splits: NDArray[np.int8]

    def table(self) -> pa.Table:
        """Read the documents."""
        with pa.OSFile(str(self.path)) as file:  # read, not mapped: mapped pages count as memory
            return pa.ipc.open_stream(file).read_all()

    def word_list(self) -> list[str]:
        """Read the words that the shard's own ids stand for."""
        return self.words.read_text(encoding="utf-8").split("\n")

    def delete(self) -> None:
        """Delete both files."""
        self.path.unlink()
        self.words.unlink()


def write_raw(shard: Shard, directory: Path, number: int) -> RawShard:
    """Write a full shard and its word list.

    Raises:
        InputError: a reader gives ready words, and one has a line break, which separates words
            here and in `Task`.
    """
    path = directory / f"raw-{number:05}.arrow"
    write_table(path, shard.table())
    broken = [word for word in shard.splitter.words if "\n" in word or "\r" in word]
    if broken:
        raise InputError(
            f"the reader of this corpus gives the word {broken[0]!r}: no word may have a line "
            "break in it, so let the reader replace it"
        )
    words = path.with_suffix(".words")
    words.write_text("\n".join(shard.splitter.words), encoding="utf-8")
    code = {split: i for i, split in enumerate(SPLITS)} | {"": -1}
    return RawShard(path, words, np.array([code[split] for split in shard.splits], dtype=np.int8))


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as an Arrow stream, which Hugging Face `datasets` maps into memory."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def with_ids(table: pa.Table, name: str, mapping: NDArray[np.integer]) -> pa.Table:
    """Return a table with other ids in a column of lists: ``mapping`` has that of each old one."""
    column = table.column(name).combine_chunks()
    values = pa.array(mapping[column.values.to_numpy()], pa.int32())
    return table.set_column(
        table.column_names.index(name), name, pa.ListArray.from_arrays(column.offsets, values)
    )
