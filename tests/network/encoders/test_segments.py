"""Segments beside Python lists and PyTorch, one by one."""

import pytest
import torch

from gile_lightning.network.encoders.segments import (
    Attend,
    document_words,
    segment_softmax,
    segment_sum,
)
from gile_testing.segments import every_length, lengths_of, random

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


@every_length
@pytest.mark.parametrize("scale", [1.0, 1e4, 0.0], ids=["usual", "huge", "equal"])
def test_softmax_equals_torch_segment_by_segment(sizes, scale):
    scores = random(sum(sizes)) * scale
    expected = [torch.softmax(segment, dim=0) for segment in scores.split(sizes)]
    actual = segment_softmax(scores, lengths_of(sizes))
    torch.testing.assert_close(actual, torch.cat([scores[:0], *expected]), rtol=1e-12, atol=0)


def test_gradients_of_frequent_words_in_bfloat16():
    """Its 8 bits would stop a sum over 4,000 places at some 256."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(3, 5, generator=generator)
    scores = torch.randn(3, generator=generator)
    ids, lengths = torch.tensor([0, 1, 2, 1]).repeat(1000), torch.full((400,), 10)
    results = []
    for dtype in (torch.double, torch.bfloat16):
        leaves = [x.to(torch.bfloat16).to(dtype).requires_grad_() for x in (states, scores)]
        Attend.apply(*leaves, lengths, ids).double().sum().backward()
        results.append([x.grad for x in leaves])
    for exact, found in zip(*results, strict=True):
        assert found.dtype == torch.bfloat16
        assert (found.double() - exact).norm() < 0.06 * exact.norm()


def test_softmax_of_huge_float32_scores_is_finite():
    scores = torch.tensor([1e4, -1e4, 1e4, -1e4, -1e4])
    weights = segment_softmax(scores, torch.tensor([3, 2]))
    assert weights.tolist() == [0.5, 0.0, 0.5, 0.5, 0.5]


@every_length
@pytest.mark.parametrize("weighted", [False, True])
def test_sum_equals_a_loop(sizes, weighted):
    values = random(sum(sizes), 3)
    weights = random(sum(sizes)) if weighted else None
    factors = torch.ones(sum(sizes)).double() if weights is None else weights
    expected = [
        sum((v * w for v, w in zip(*pair, strict=True)), torch.zeros(3).double())
        for pair in zip(values.split(sizes), factors.split(sizes), strict=True)
    ]
    actual = segment_sum(values, lengths_of(sizes), weights)
    expected = torch.stack(expected) if expected else torch.zeros(0, 3).double()
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)


@every_length
def test_distinct_vectors_and_ids_give_the_sums_of_their_places(sizes):
    table, lengths = random(4, 3).requires_grad_(), lengths_of(sizes)
    ids = torch.randint(4, (sum(sizes),), generator=torch.Generator().manual_seed(1))
    weights = random(sum(sizes)).requires_grad_()
    for factors in (None, weights):
        expected = segment_sum(table[ids], lengths, factors)
        actual = segment_sum(table, lengths, factors, ids)
        torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)
    assert torch.autograd.gradcheck(lambda t: segment_sum(t, lengths, None, ids), table)
    both = (table, weights)
    assert torch.autograd.gradcheck(lambda t, w: segment_sum(t, lengths, w, ids), both)


@every_length
def test_gradients_are_those_of_finite_differences(sizes):
    lengths = lengths_of(sizes)
    values = random(sum(sizes), 3).requires_grad_()
    scores = random(sum(sizes)).requires_grad_()
    assert torch.autograd.gradcheck(lambda v, w: segment_sum(v, lengths, w), (values, scores))
    assert torch.autograd.gradcheck(lambda s: segment_softmax(s, lengths), scores)
