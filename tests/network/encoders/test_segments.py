"""Ragged index arithmetic beside Python lists."""

import pytest
import torch

from gile_lightning.data.loading.ragged import gather_segments, segment_ids, segment_starts
from gile_lightning.network.encoders.segments import document_words

DOCUMENTS = {  # words per sentence per document
    "one sentence each": [[3], [1], [2]],
    "several sentences": [[3, 1], [2], [4, 4, 5]],
    "a sentence without a word": [[3, 0], [0], [2]],
    "no sentence": [[], [3], [], [2, 2], []],
    "as many sentences as documents": [[2, 3], []],
    "the other way round": [[], [2, 3]],
    "no sentence at all": [[], []],
    "no document": [],
}


@pytest.mark.parametrize("documents", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_document_words(documents):
    sentences = torch.tensor([words for document in documents for words in document]).long()
    counts = torch.tensor([len(document) for document in documents]).long()
    expected = [sum(document) for document in documents]
    assert document_words(sentences, counts).tolist() == expected


@pytest.mark.parametrize(
    "ids", [[0, 1, 2, 3, 4], [2, 2, 0], [1], [1, 1], [4, 3, 2, 1, 0, 4], []], ids=str
)
def test_take_segments(ids):
    segments = [[10, 11, 12], [], [13], [14, 15], []]
    values = torch.tensor([value for segment in segments for value in segment])
    lengths = torch.tensor([len(segment) for segment in segments])
    taken = gather_segments(values, segment_starts(lengths), lengths, torch.tensor(ids).long())
    assert taken.tolist() == [value for i in ids for value in segments[i]]


def test_starts_and_ids():
    lengths = torch.tensor([2, 0, 3, 0])
    assert segment_starts(lengths).tolist() == [0, 2, 2, 5]
    assert segment_ids(lengths).tolist() == [0, 0, 2, 2, 2]
