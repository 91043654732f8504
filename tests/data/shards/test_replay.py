"""Documents of an earlier corpus that are mixed into another one."""

import json

import numpy as np
import pyarrow as pa
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import Columns, Corpus
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.known import Known
from gile_lightning.data.shards.raw_shard import write_table
from gile_lightning.data.shards.replay import _relabelled, new_places, replay
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_testing.corpora import ready

COLUMNS = Columns(id="id", text="text", labels="labels")
FEW = {"min_count": 1, "split_year": None}
SIZES = {"train": 40, "validation": 10, "test": 5}


def written(folder, sizes, name="old"):
    """Each document is its number as a word; it has the label of its number modulo 4."""
    folder.mkdir()
    for split, size in sizes.items():
        words, labels = [[i] for i in range(size)], [[i % 4] for i in range(size)]
        columns = {"words": words, "labels": labels}
        table = pa.table({key: pa.array(x, pa.list_(pa.int32())) for key, x in columns.items()})
        table = table.append_column("id", pa.array([f"{name}-{split}-{i}" for i in range(size)]))
        write_table(folder / f"{split}-00000.arrow", table)
    (folder / "meta.json").write_text("{}")
    return folder


@pytest.mark.parametrize(
    ("size", "added"), [(0.5, (20, 5)), (20, (20, 5)), (1.0, (40, 10)), (99, (40, 10))]
)
def test_the_same_share_of_training_and_validation(tmp_path, size, added):
    source, target = (
        written(tmp_path / "old", SIZES),
        written(tmp_path / "new", {"train": 3}, "new"),
    )
    found = replay(source, target, size, [[7], [8, 9], [6], [5]], 3, 99, Skipped())
    assert found == dict(zip(("train", "validation"), added, strict=True))
    table = pa.ipc.open_stream(str(target / "train-replay.arrow")).read_all()
    numbers = [own[0] for own in table.column("words").to_pylist()]
    assert len(set(numbers)) == added[0]
    places = {0: [7], 1: [8, 9], 2: [6], 3: [5]}
    assert table.column("labels").to_pylist() == [places[i % 4] for i in numbers]
    assert not (target / "test-replay.arrow").exists()


def test_documents_without_a_label_are_left_out(tmp_path):
    source, target = (
        written(tmp_path / "old", SIZES),
        written(tmp_path / "new", {"train": 3}, "new"),
    )
    found = replay(source, target, 1.0, [[0], [], [], [1]], 3, 99, Skipped())
    assert found == {"train": 20, "validation": 5}


def test_documents_that_the_corpus_has_itself_are_left_out(tmp_path):
    """Whatever their split there: one that tests must not train."""
    source, skipped = written(tmp_path / "old", SIZES), Skipped()
    target = written(tmp_path / "new", {"train": 3, "test": 5})
    for old, new in (("train-00000", "test-00001"), ("validation-00000", "train-00001")):
        table = pa.ipc.open_stream(str(source / f"{old}.arrow")).read_all()
        write_table(target / f"{new}.arrow", table.slice(0, 7).combine_chunks())
    found = replay(source, target, 0.5, [[0], [1], [2], [3]], 3, 99, skipped)
    # 40 and 10, without the 3 and 7 that are there: half of 33 and of 3
    assert found == {"train": 16, "validation": 2}
    assert skipped.counts == {"documents to replay that the corpus has itself": 14}
    table = pa.ipc.open_stream(str(target / "train-replay.arrow")).read_all()
    assert min(own[0] for own in table.column("words").to_pylist()) >= 7


def test_a_corpus_that_is_gone(tmp_path):
    with pytest.raises(InputError, match=r"gone: the encoded documents .* leave data\.replay out"):
        replay(tmp_path / "gone", tmp_path, 1.0, [], 3, 99, Skipped())


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


def test_labels_that_were_held_out_are_not_trained_by_documents_that_lack_them(tmp_path):
    """They would count as wrong there. Where such labels stay unseen, they do no harm."""
    names = [*"abcd"]

    def corpus(name, documents, **more):
        lines = (
            json.dumps({"id": f"{name}-{i}", "text": f"word {i}", "labels": labels})
            for i, labels in enumerate(documents)
        )
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
        path, cache = str(tmp_path / f"{name}.jsonl"), tmp_path / "cache"
        return Corpus(path, tmp_path / "l.jsonl", columns=COLUMNS, cache_dir=cache, **FEW, **more)

    (tmp_path / "l.jsonl").write_text(
        "\n".join(json.dumps({"name": x, "description": f"about {x}"}) for x in names)
    )
    first = ready(corpus("first", [[x, "a"] for x in 20 * names], held_out_labels=1))
    labels = first.tasks["english"].labels
    held_out = labels.names[-1]
    assert labels.seen == 3
    known = {"english": Known(labels, first.fingerprint(), labels)}
    for own, refused in (([held_out], True), ([x for x in names if x != held_out], False)):
        later = corpus(f"later-{refused}", 20 * [[x] for x in own], replay=0.5)
        later.encode_for_training(first.tasks, known)
        if refused:
            with pytest.raises(InputError, match=f"held out .*'{held_out}' is trained now"):
                later.prepare_data()
        else:
            assert ready(later).meta["counts"]["replayed"]["train"] > 0
    # its replayed documents lack the label too
    again = corpus("again", 20 * [[held_out]], replay=0.5)
    known = Known(later.tasks["english"].labels, later.fingerprint(), later.tasks["english"].labels)
    again.encode_for_training(later.tasks, {"english": known})
    with pytest.raises(InputError, match=f"held out .*'{held_out}' is trained now"):
        again.prepare_data()
