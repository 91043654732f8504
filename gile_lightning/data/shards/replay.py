"""Documents of an earlier training that are mixed into a new one."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import SPLITS
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.loading.document_hashes import table_hashes
from gile_lightning.data.shards.cache import META
from gile_lightning.data.shards.raw_shard import write_table
from gile_lightning.data.tokenizing.label_set import LabelSet

REPLAYED = ("train", "validation")


def replay(
    source: Path,
    directory: Path,
    size: float,
    places: Sequence[Sequence[int]],
    seed: int,
    unknown: int,
    skipped: Skipped,
) -> dict[str, int]:
    """Add documents of an encoded corpus to another one of the same vocabulary.

    The same share of the training and of the validation documents is drawn, of those that the other
    corpus does not have itself.

    Args:
        source: the folder of the earlier corpus.
        directory: the folder of the new one; it gets ``train-replay.arrow`` and
            ``validation-replay.arrow``.
        size: number of training documents, or a share if below 1, or 1 for all.
        places: the ids in the new label set of each label of the earlier one. A document that
            keeps no label is left out.
        seed: of the draw.
        unknown: the id of the unknown word.
        skipped: counts the documents that the new corpus has itself.

    Returns:
        The documents added to each split.

    Raises:
        InputError: the earlier corpus is not in the cache, or was encoded otherwise.
    """
    if not (source / META).is_file():
        raise InputError(
            f"{source}: the encoded documents of the earlier run, which data.replay draws from, "
            "are not in the cache any more: encode them again (python -m gile_lightning.prepare "
            "with the config.yaml of that run), or give the documents themselves (data.path) and "
            "leave data.replay out"
        )
    (new, *_) = tables = [table for split in SPLITS for table in _tables(directory, split)]
    schema = new.schema
    own = np.concatenate([table_hashes(table, unknown) for table in tables])
    added: dict[str, int] = {}
    share = size
    for split in REPLAYED:
        tables = _tables(source, split)
        if not tables:
            continue
        table = pa.concat_tables(tables)
        repeated = np.isin(table_hashes(table, unknown), own)
        skipped.add("documents to replay that the corpus has itself", "", int(repeated.sum()))
        table = table.filter(pa.array(~repeated))
        if split == "train":
            share = min(1.0, size if size <= 1 else size / max(1, len(table)))
        order = np.random.default_rng(seed).permutation(len(table))
        rows = table.take(np.sort(order[: round(share * len(table))]))
        rows = _relabelled(rows, places)
        if rows.schema.names != schema.names:
            raise InputError(
                f"{source}: the earlier documents were encoded with other columns "
                f"({', '.join(rows.schema.names)}); leave data.replay out"
            )
        if len(rows):
            write_table(directory / f"{split}-replay.arrow", rows.cast(schema).combine_chunks())
        added[split] = len(rows)
    return added


def _tables(directory: Path, split: str) -> list[pa.Table]:
    """Return the documents of a split, shard by shard."""
    files = sorted(directory.glob(f"{split}-*.arrow"))
    return [pa.ipc.open_stream(pa.memory_map(str(file))).read_all() for file in files]


def new_places(
    before: LabelSet, after: LabelSet, targets: Mapping[str, Sequence[str]]
) -> list[list[int]]:
    """Return the ids in a later label set of what each label has become.

    Args:
        before: the earlier set.
        after: the later one.
        targets: what labels become, by their names; see `LabelChanges.resolve`.
    """
    same = before.places_in(after)
    found = []
    for name, place in zip(before.names, same, strict=True):
        ids = [after.ids.get(new, -1) for new in targets[name]] if name in targets else [place]
        found.append([i for i in ids if i >= 0])
    return found


def _relabelled(table: pa.Table, places: Sequence[Sequence[int]]) -> pa.Table:
    """Return the documents with the new ids of their labels, without those that keep none."""
    labels = [
        list(dict.fromkeys(new for label in own for new in places[label]))
        for own in table.column("labels").to_pylist()
    ]
    column = table.column_names.index("labels")
    kind = table.schema.field("labels")
    table = table.set_column(column, kind, pa.array(labels, kind.type))
    return table.filter(pa.array([bool(own) for own in labels], pa.bool_()))
