"""The draws: validation and test documents, and labels that are held out of training."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import SPLITS
from gile_lightning.data.shards.raw_shard import RawShard, write_table

TRAIN, VALIDATION, TEST = range(len(SPLITS))
REPEATED = -2  # that of training documents which a model that is trained further knows
UNLABELLED = -1  # the split of training documents whose labels are all held out


def draw_splits(
    splits: NDArray[np.int8],
    validation_size: float,
    test_size: float,
    seed: int,
    scoring: bool,
    known: NDArray[np.int8] | None = None,
) -> None:
    """Assign in place what the corpus leaves open: test documents, then validation documents.

    To score a trained model, the test documents are drawn as for its training, so that it is not
    scored on documents that it was trained on. Two sizes mean all documents then: a ``test_size``
    as large as the corpus; and 0, since that model was trained on all of its own corpus.

    Documents that a model knows keep the split that they had in its training: what the corpus
    leaves open is drawn among the others alone, at the same shares. So no document that trained
    a model tests it, and new documents beside old ones move none of these.

    Args:
        splits: places in `SPLITS`, or -1 where the corpus says nothing.
        validation_size: share (below 1) or number of training documents.
        test_size: the same of the documents that the corpus leaves open.
        seed: of the draws.
        scoring: whether a trained model is scored, which needs no validation documents.
        known: places in `SPLITS` of the documents that a trained model knows, and -1 for others.

    Raises:
        InputError: no document would be left.
    """
    generator = np.random.default_rng(seed)
    given = splits.copy()
    undecided = np.flatnonzero(given == -1)
    if scoring and (test_size == 0 or test_size >= len(undecided)):
        splits[undecided] = TEST
        return
    if known is None:
        known = np.full_like(splits, -1)
    splits[undecided] = known[undecided]
    size = _left(test_size, int((splits[undecided] == TEST).sum()))
    undecided = np.flatnonzero(splits == -1)
    number = _number("test_size", size, len(undecided))
    splits[generator.choice(undecided, number, replace=False)] = TEST
    splits[splits == -1] = TRAIN
    if scoring or (given == VALIDATION).any():
        return
    splits[(splits == TRAIN) & (known == VALIDATION)] = VALIDATION
    kept = int((splits == VALIDATION).sum())
    trained = splits == TRAIN
    pool = np.flatnonzero(trained & (known != TRAIN))
    if not kept and not len(pool):  # all of them trained the model
        pool = np.flatnonzero(trained)
    number = _number("validation_size", _left(validation_size, kept), len(pool))
    least = 0 if kept else min(1, len(pool))
    splits[generator.choice(pool, max(number, least), replace=False)] = VALIDATION


def count_labels(table: pa.Table, splits: NDArray[np.int8], labels: int) -> NDArray[np.int64]:
    """Count the documents of each split that have each label: [3, labels]."""
    rows, values = _assignments(table)
    counts = np.zeros((len(SPLITS), labels), dtype=np.int64)
    for split in range(len(SPLITS)):
        counts[split] = np.bincount(values[splits[rows] == split], minlength=labels)
    return counts


def hold_out(
    raw: Sequence[RawShard], labels: int, size: float, seed: int
) -> tuple[list[RawShard], list[int], dict[str, int]]:
    """Hold labels of validation documents out: remove them from the training documents.

    Args:
        raw: the shards; their files are written anew.
        labels: the number of labels.
        size: share (below 1) or number of the labels that training and validation documents have.
        seed: of the draw.

    Returns:
        The shards, in which training documents that have no other label are `UNLABELLED`. The
        held-out labels. And the numbers of their removed assignments and of `UNLABELLED` documents.

    Raises:
        InputError: no label would be left.
    """
    counts = np.zeros((len(SPLITS), labels), dtype=np.int64)
    for shard in raw:
        counts += count_labels(shard.table(), shard.splits, labels)
    pool = np.flatnonzero((counts[TRAIN] > 0) & (counts[VALIDATION] > 0))
    what = "labels that training and validation documents have"
    if len(pool) < 2:
        raise InputError(
            f"held_out_labels: {len(pool)} {what}, of which none can be held out; set it to 0, or "
            "enlarge validation_size"
        )
    number = max(_number("held_out_labels", size, len(pool), what), 1)
    drawn = np.random.default_rng(seed).choice(pool, number, replace=False)
    held = np.zeros(labels, dtype=bool)
    held[drawn] = True
    shards = [_without(shard, held) for shard in raw]
    unlabelled = sum(int((shard.splits == UNLABELLED).sum()) for shard in shards)
    assignments = int(counts[TRAIN, drawn].sum())
    drawn.sort()
    return shards, drawn.tolist(), {"assignments": assignments, "documents": unlabelled}


def _without(shard: RawShard, held: NDArray[np.bool_]) -> RawShard:
    """Remove labels [bool] from a shard's training documents, and write it anew."""
    table = shard.table()
    rows, values = _assignments(table)
    kept = ~(held[values] & (shard.splits[rows] == TRAIN))
    counts = np.bincount(rows[kept], minlength=table.num_rows)
    offsets = np.concatenate([[0], counts.cumsum()]).astype(np.int32)
    left = pa.ListArray.from_arrays(pa.array(offsets), pa.array(values[kept]))
    write_table(shard.path, table.set_column(table.column_names.index("labels"), "labels", left))
    splits = shard.splits.copy()
    splits[(splits == TRAIN) & (counts == 0)] = UNLABELLED
    return shard._replace(splits=splits)


def _assignments(table: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the rows [P] and labels [P] of the pairs of a document and a label."""
    column = table.column("labels").combine_chunks()
    offsets = column.offsets.to_numpy()
    values: NDArray[np.int32] = column.values.to_numpy()[offsets[0] : offsets[-1]]
    return np.repeat(np.arange(table.num_rows), np.diff(offsets)), values


def _left(size: float, drawn: int) -> float:
    """Return the size that is still to be drawn: a share (below 1), or the rest of a number."""
    return size if size < 1 else max(int(size) - drawn, 0)


def _number(name: str, size: float, of: int, what: str = "documents") -> int:
    """Turn a share (below 1) or number of documents or labels into a number."""
    count = round(size * of) if size < 1 else int(size)
    if of and count >= of:
        raise InputError(
            f"{name} = {size:g} would take all {of:,} {what}; make it smaller (below 1 it is a "
            "share)"
        )
    return min(count, of)
