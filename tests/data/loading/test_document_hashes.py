"""Hashes of documents."""

import numpy as np
import pyarrow as pa

from gile_lightning.data.loading.document_hashes import _hash, document_hashes, table_hashes

DOCUMENTS = [[1, 2, 3], [3, 2, 1], [1, 2], [1, 2, 3, 0], [], [5], [1, 2, 3]]


def hashes(documents, ids=None, unknown=9):
    flat = np.array([word for own in documents for word in own], dtype=np.int32)
    lengths = np.array([len(own) for own in documents])
    return document_hashes(ids or ["x"] * len(documents), flat, lengths, unknown)


def test_equal_documents_have_equal_hashes_and_no_others():
    found = hashes(DOCUMENTS)
    assert found[0] == found[-1]
    assert len(set(found[:-1])) == len(DOCUMENTS) - 1
    np.testing.assert_array_equal(hashes(DOCUMENTS[::-1]), found[::-1])
    assert not set(hashes(DOCUMENTS, ["y"] * len(DOCUMENTS))) & set(found)


def test_a_word_that_was_added_counts_as_unknown():
    assert hashes([[1, 12]]) == hashes([[1, 9]]) != hashes([[1, 8]])


def test_numbers_are_mixed_as_published():
    """The first three of SplitMix64 with the seed 1234567, whose state grows by a constant."""
    states = np.uint64(1234567) + np.arange(3).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert _hash(states).tolist() == published


def test_those_of_a_part_of_a_table():
    ids = [*"abcdefg"]
    table = pa.table({"id": ids, "words": pa.array(DOCUMENTS, pa.list_(pa.int32()))})
    np.testing.assert_array_equal(table_hashes(table[2:6], 9), hashes(DOCUMENTS, ids)[2:6])
