from gile_lightning.data.summary import describe


def test_describe():
    meta = {
        "counts": {"documents": {"train": 5, "test": 6}, "seen_labels": 1, "unseen_labels": 2}
        | {
            "words": 7,
            "held_out_labels": 2,
            "training_documents_used": 4,
        },
        "held_out": ["Newts"],
        "skipped": {"documents without a word": {"count": 1_200, "first": "a:1"}},
    }
    text = describe(meta)
    for words in (
        "training on 4 of 5",
        "left out: 1,200 documents without a word (first: a:1)",
        "2 labels (Newts, ...)",
    ):
        assert words in text
    assert "warning: 1,200 documents were left out, more than the 11 kept" in text
    every = describe(meta | {"held_out": ["Newts", "Toads"]})
    assert "held out of training, so not learned: 2 labels (Newts, Toads)" in every
