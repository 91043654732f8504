"""Splits that are drawn where a corpus does not say them."""

import numpy as np
import pytest

from gile_lightning.data.shards.draws import TEST, TRAIN, VALIDATION, draw_splits, keep_splits


@pytest.mark.parametrize(
    ("test_size", "scoring", "sizes"),
    [
        (0, False, {TRAIN: 10, VALIDATION: 2, TEST: 2}),
        (0.25, False, {TRAIN: 7, VALIDATION: 2, TEST: 5}),
        (3, True, {TRAIN: 9, VALIDATION: 0, TEST: 5}),
        (0, True, {TRAIN: 0, VALIDATION: 0, TEST: 14}),  # all are new to the model
        (12, True, {TRAIN: 0, VALIDATION: 0, TEST: 14}),
    ],
)
def test_sizes_of_what_is_open(test_size, scoring, sizes):
    """The corpus says that two of its 14 documents are test documents."""
    splits = np.array([-1] * 6 + [TEST] * 2 + [-1] * 6, dtype=np.int8)
    draw_splits(splits, 2, test_size, seed=0, scoring=scoring)
    assert {split: (splits == split).sum() for split in (TRAIN, VALIDATION, TEST)} == sizes
    assert (splits[6:8] == TEST).all()


def drawn(documents, test_size=0.2, scoring=False, validation_size=0.1):
    splits = np.full(documents, -1, dtype=np.int8)
    draw_splits(splits, validation_size, test_size, seed=0, scoring=scoring)
    return splits


def kept(first, documents, test_size=0.2, scoring=False):
    """Draw for documents of which a model knows the first ones."""
    splits = drawn(documents, test_size, scoring)
    known = np.concatenate([first, np.full(documents - len(first), -1)]).astype(np.int8)
    given = np.full(documents, -1, dtype=np.int8)
    keep_splits(splits, given, known, test_size, scoring)
    return splits


@pytest.mark.parametrize("new", [0, 1, 300])
@pytest.mark.parametrize("scoring", [False, True])
def test_documents_that_a_model_knows_keep_their_split(new, scoring):
    first = drawn(200)
    splits = kept(first, 200 + new, scoring=scoring)
    if scoring:
        assert ((splits[:200] == TEST) == (first == TEST)).all()
    else:
        assert (splits[:200] == first).all()
    if new == 300:  # a share of them, by another draw
        assert (splits[200:] == TEST).sum() == pytest.approx(0.2 * new, rel=0.25)


def test_documents_that_a_model_has_not_used_stay_where_they_were_drawn():
    """As those of held-out labels alone, or beside a share of the training documents."""
    first = drawn(200)
    known = np.where((first == TRAIN) & (np.arange(200) % 2 == 0), -1, first)
    assert (kept(known, 200) == first).all()
    assert ((kept(known, 200, scoring=True) == TEST) == (first == TEST)).all()


@pytest.mark.parametrize("size", [0, 1_000])
def test_sizes_that_mean_all_leave_out_what_trained_the_model(size):
    first = drawn(200)
    splits = kept(first, 300, size, scoring=True)
    assert ((splits == TEST) == np.concatenate([first == TEST, np.ones(100, bool)])).all()


def test_no_document_tests_where_all_can_train():
    first = drawn(200)
    splits = kept(first, 300, test_size=0)
    assert not (splits == TEST).any()
    assert (splits[:200] == np.where(first == TEST, TRAIN, first)).all()


def test_what_the_corpus_says_goes_before_what_a_model_knows():
    given = np.array([TEST, TRAIN, TRAIN, TRAIN, -1], dtype=np.int8)
    known = np.array([TRAIN, TEST, VALIDATION, TRAIN, TEST], dtype=np.int8)
    splits = np.array([TEST, VALIDATION, TRAIN, TRAIN, TRAIN], dtype=np.int8)
    keep_splits(splits, given, known, 0.1, scoring=False)
    assert splits.tolist() == [TEST, VALIDATION, VALIDATION, TRAIN, TEST]
    given[0], splits[:] = VALIDATION, given
    keep_splits(splits, given, known, 0.1, scoring=False)
    assert splits.tolist() == [
        VALIDATION,
        TRAIN,
        TRAIN,
        TRAIN,
        TEST,
    ]  # the corpus has its validation
