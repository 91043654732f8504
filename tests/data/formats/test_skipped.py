from gile_lightning.data.formats.skipped import Skipped, describe


def test_counts_by_reason_with_the_first_place():
    skipped = Skipped()
    skipped.add("b", "file:3")
    skipped.add("a", "")
    skipped.add("b", "file:7", 4)
    skipped.add("a", "file:9", 2)
    skipped.add("nothing", "file:1", 0)
    assert skipped.state() == {
        "a": {"count": 3, "first": "file:9"},
        "b": {"count": 5, "first": "file:3"},
    }


def test_describe():
    meta = {
        "counts": {
            "documents": {"train": 12345, "test": 6},
            "seen_labels": 1000,
            "unseen_labels": 2,
            "words": 54321,
        },
        "skipped": {
            "broken lines": {"count": 1200, "first": "a:1"},
            "rare": {"count": 1, "first": ""},
        },
    }
    assert describe(meta).splitlines() == [
        "train 12,345  test 6 documents",
        "1,000 labels seen in training, 2 unseen, 54,321 words in the vocabulary",
        "left out: 1,200 broken lines (first: a:1)",
        "left out: 1 rare",
    ]
    meta["counts"]["held_out_labels"] = 1
    assert describe(meta).splitlines()[2] == "held out of training: 1 of the unseen labels"
