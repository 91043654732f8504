"""Documents of an earlier corpus that are mixed into another one."""

import numpy as np
import pyarrow as pa
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.shards.raw_shard import write_table
from gile_lightning.data.shards.replay import _relabelled, new_places, replay
from gile_lightning.data.tokenizing.label_set import LabelSet

SIZES = {"train": 40, "validation": 10, "test": 5}


def written(folder, sizes):
    """Each document is its number as a word; it has the label of its number modulo 4."""
    folder.mkdir()
    for split, size in sizes.items():
        words, labels = [[i] for i in range(size)], [[i % 4] for i in range(size)]
        columns = {"words": words, "labels": labels}
        table = pa.table({key: pa.array(x, pa.list_(pa.int32())) for key, x in columns.items()})
        write_table(folder / f"{split}-00000.arrow", table)
    (folder / "meta.json").write_text("{}")
    return folder


@pytest.mark.parametrize(
    ("size", "added"), [(0.5, (20, 5)), (20, (20, 5)), (1.0, (40, 10)), (99, (40, 10))]
)
def test_the_same_share_of_training_and_validation(tmp_path, size, added):
    source, target = written(tmp_path / "old", SIZES), written(tmp_path / "new", {"train": 3})
    found = replay(source, target, size, [[7], [8, 9], [6], [5]], seed=3)
    assert found == dict(zip(("train", "validation"), added, strict=True))
    table = pa.ipc.open_stream(str(target / "train-replay.arrow")).read_all()
    numbers = [own[0] for own in table.column("words").to_pylist()]
    assert len(set(numbers)) == added[0]
    places = {0: [7], 1: [8, 9], 2: [6], 3: [5]}
    assert table.column("labels").to_pylist() == [places[i % 4] for i in numbers]
    assert not (target / "test-replay.arrow").exists()


def test_documents_without_a_label_are_left_out(tmp_path):
    source, target = written(tmp_path / "old", SIZES), written(tmp_path / "new", {"train": 3})
    assert replay(source, target, 1.0, [[0], [], [], [1]], seed=3) == {"train": 20, "validation": 5}


def test_a_corpus_that_is_gone(tmp_path):
    with pytest.raises(InputError, match=r"gone: the encoded documents .* leave data\.replay out"):
        replay(tmp_path / "gone", tmp_path, 1.0, [], seed=3)


def test_places_follow_changes_names_and_uris():
    before = LabelSet([*"abcd"], ["t"] * 4, [4, 3, 2, 1], uris=["", "urn:b", "", ""])
    after = LabelSet([*"xyBd"], ["t"] * 4, [4, 3, 2, 1], uris=["", "", "urn:b", ""])
    targets = {"a": ("x", "y"), "c": ()}
    assert new_places(before, after, targets) == [[0, 1], [2], [], [3]]
    np.testing.assert_array_equal(before.places_in(after), [-1, 2, -1, 3])


def test_a_draw_without_a_document():
    """A small share of few validation documents is none."""
    table = pa.table({"labels": pa.array([], pa.list_(pa.int32()))})
    assert _relabelled(table, [[0]]).num_rows == 0
