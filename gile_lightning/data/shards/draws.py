"""The draws: validation and test documents, and labels that are held out of training."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import SPLITS
from gile_lightning.data.known import BEGAN_WITH
from gile_lightning.data.shards.raw_shard import RawShard, write_table

TRAIN, VALIDATION, TEST = range(len(SPLITS))
REPEATED = -2  # that of training documents which a model that is trained further knows
UNLABELLED = -1  # the split of training documents whose labels are all held out


def draw_splits(
    splits: NDArray[np.int8], validation_size: float, test_size: float, seed: int, scoring: bool
) -> None:
    """Assign in place what the corpus leaves open: test documents, then validation documents.

    To score a trained model, the test documents are drawn as for its training, so that it is not
    scored on documents that it was trained on. Two sizes mean all documents then: a ``test_size``
    as large as the corpus; and 0, since that model was trained on all of its own corpus.

    Args:
        splits: places in `SPLITS`, or -1 where the corpus says nothing.
        validation_size: share (below 1) or number of training documents.
        test_size: the same of the documents that the corpus leaves open.
        seed: of the draws.
        scoring: whether a trained model is scored, which needs no validation documents.

    Raises:
        InputError: no document would be left.
    """
    generator = np.random.default_rng(seed)
    undecided = np.flatnonzero(splits == -1)
    size = len(undecided) if scoring and test_size == 0 else test_size
    number = _number("test_size", size, len(undecided), all_allowed=scoring)
    splits[generator.choice(undecided, number, replace=False)] = TEST
    splits[splits == -1] = TRAIN
    if scoring or (splits == VALIDATION).any():
        return
    pool = np.flatnonzero(splits == TRAIN)
    number = _number("validation_size", validation_size, len(pool))
    splits[generator.choice(pool, max(number, min(1, len(pool))), replace=False)] = VALIDATION


def keep_splits(
    splits: NDArray[np.int8],
    given: NDArray[np.int8],
    known: NDArray[np.int8],
    test_size: float,
    scoring: bool,
) -> None:
    """Give documents that a model knows the split back that they had there, where it was drawn.

    So no document that trained a model tests it, or the one that goes on from it; and what tested
    it does so again.

    Args:
        splits: places in `SPLITS`, as `draw_splits` has drawn them; changed in place.
        given: what the corpus says, -1 where it says nothing.
        known: the splits that the model knows; see `KnownDocuments.splits`.
        test_size: with 0, no document tests, if none is `scoring`; what tested then trains.
        scoring: whether the model is scored, which needs no validation documents.
    """
    trains = (known == BEGAN_WITH) | ((known == TEST) & (test_size == 0 and not scoring))
    known = np.where(trains, TRAIN, known)
    kept = (given == -1) & (known >= 0)
    if not scoring and not (given == VALIDATION).any():
        kept |= (given == TRAIN) & np.isin(known, (TRAIN, VALIDATION))
    splits[kept] = known[kept]


def count_labels(table: pa.Table, splits: NDArray[np.int8], labels: int) -> NDArray[np.int64]:
    """Count the documents of each split that have each label: [3, labels]."""
    rows, values = _assignments(table)
    counts = np.zeros((len(SPLITS), labels), dtype=np.int64)
    for split in range(len(SPLITS)):
        counts[split] = np.bincount(values[splits[rows] == split], minlength=labels)
    return counts


def hold_out(
    raw: Sequence[RawShard], known: NDArray[np.bool_], size: float, seed: int
) -> tuple[list[RawShard], list[int], dict[str, int]]:
    """Hold labels of validation documents out: remove them from the training documents.

    Args:
        raw: the shards; their files are written anew.
        known: [L] which labels a model has learned that is trained further; they stay.
        size: share (below 1) or number of the other labels that training and validation documents
            have.
        seed: of the draw.

    Returns:
        The shards, in which training documents that have no other label are `UNLABELLED`. The
        held-out labels. And the numbers of their removed assignments and of `UNLABELLED` documents.

    Raises:
        InputError: no label would be left.
    """
    labels = len(known)
    counts = np.zeros((len(SPLITS), labels), dtype=np.int64)
    for shard in raw:
        counts += count_labels(shard.table(), shard.splits, labels)
    pool = np.flatnonzero((counts[TRAIN] > 0) & (counts[VALIDATION] > 0) & ~known)
    what = "labels that training and validation documents have"
    if known.any():
        what += ", and the model does not know yet"
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


def _number(
    name: str, size: float, of: int, what: str = "documents", all_allowed: bool = False
) -> int:
    """Turn a share (below 1) or number of documents or labels into a number."""
    count = round(size * of) if size < 1 else int(size)
    if of and count >= of and not all_allowed:
        raise InputError(
            f"{name} = {size:g} would take all {of:,} {what}; make it smaller (below 1 it is a "
            "share)"
        )
    return min(count, of)
