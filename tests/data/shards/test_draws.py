"""Splits that are drawn where a corpus does not say them."""

import numpy as np
import pytest

from gile_lightning.data.shards.draws import TEST, TRAIN, VALIDATION, draw_splits


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


OLD = {TRAIN: range(40), VALIDATION: range(40, 44), TEST: range(44, 50)}  # of a model


def known(documents):
    places = np.full(documents, -1, dtype=np.int8)
    for split, own in OLD.items():
        places[list(own)] = split
    return places


@pytest.mark.parametrize(
    ("sizes", "new", "validation", "test"),
    [
        ((0.1, 0.2), 0, 0, 0),
        ((0.1, 0.2), 50, 4, 10),  # of 40 new documents that do not test, and of 50
        ((9, 8), 50, 9 - 4, 8 - 6),
        ((3, 2), 50, 0, 0),
    ],
)
def test_documents_that_a_model_knows_keep_their_split(sizes, new, validation, test):
    splits = np.full(50 + new, -1, dtype=np.int8)
    draw_splits(splits, *sizes, seed=0, scoring=False, known=known(len(splits)))
    assert (splits[:50] == known(50)).all()
    counts = np.bincount(splits[50:], minlength=3).tolist()
    assert counts == [new - validation - test, validation, test]


def test_a_trained_model_is_scored_on_what_tested_it_and_on_a_share_of_the_rest():
    splits = np.full(100, -1, dtype=np.int8)
    draw_splits(splits, 0.1, 0.2, seed=0, scoring=True, known=known(100))
    assert set(np.flatnonzero(splits[:50] == TEST)) == set(OLD[TEST])
    assert (splits[50:] == TEST).sum() == 10
    splits = np.full(100, -1, dtype=np.int8)
    draw_splits(splits, 0.1, 100, seed=0, scoring=True, known=known(100))
    assert (splits == TEST).all()  # a size as large as the corpus means all


def test_what_the_corpus_says_goes_before_what_a_model_knows():
    splits = np.array([TEST, TRAIN, TRAIN, TRAIN, -1], dtype=np.int8)
    places = np.array([TRAIN, TEST, VALIDATION, TRAIN, TEST], dtype=np.int8)
    draw_splits(splits, 0.1, 0.1, seed=0, scoring=False, known=places)
    assert splits.tolist() == [TEST, TRAIN, VALIDATION, TRAIN, TEST]


@pytest.mark.parametrize("others", [0, 1])
def test_one_document_validates_at_least(others):
    """One that is new to the model if there is one, and another one if not."""
    splits = np.full(9 + others, TRAIN, dtype=np.int8)
    places = np.array([TRAIN] * 9 + [-1] * others, dtype=np.int8)
    draw_splits(splits, 0.1, 0, seed=0, scoring=False, known=places)
    assert (splits == VALIDATION).sum() == 1
    assert not others or splits[-1] == VALIDATION
