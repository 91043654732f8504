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
