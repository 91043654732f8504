import numpy as np
import pytest
import torch

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.metrics.references import mix, popularity_scores, random_scores

DOCUMENTS, LABELS = 400, 50


def batch(documents):
    """Make a batch without labels of documents given as sentences of word ids."""
    sentences = [sentence for document in documents for sentence in document]
    return RaggedBatch(
        torch.tensor([word for s in sentences for word in s], dtype=torch.int32),
        torch.tensor([len(s) for s in sentences]),
        torch.tensor([len(document) for document in documents]),
        torch.zeros(0, dtype=torch.long),
        torch.zeros(len(documents), dtype=torch.long),
    )


@pytest.fixture(scope="module")
def documents():
    draw = np.random.default_rng(0)
    sizes = draw.integers(1, 4, DOCUMENTS)
    return [
        [draw.integers(0, 1000, draw.integers(1, 30)).tolist() for _ in range(n)] for n in sizes
    ]


def test_popularity_ranks_by_id():
    logits = torch.randn(3, 6)
    scores = popularity_scores(logits)
    assert scores.shape == logits.shape
    assert scores.argsort(descending=True).tolist() == [[0, 1, 2, 3, 4, 5]] * 3
    assert scores.dtype == logits.dtype


@pytest.mark.parametrize("size", [1, 7, 399])
def test_random_scores_do_not_depend_on_batches(documents, size):
    whole = random_scores(batch(documents), LABELS)
    parts = [
        random_scores(batch(documents[i : i + size]), LABELS) for i in range(0, DOCUMENTS, size)
    ]
    assert torch.equal(torch.cat(parts), whole)


def test_random_scores_are_uniform(documents):
    scores = random_scores(batch(documents), LABELS)
    assert scores.shape == (DOCUMENTS, LABELS)
    values = scores.flatten().sort().values
    count = len(values)
    assert values[0] >= 0
    assert values[-1] < 1
    assert len(values.unique()) == count
    # the largest gap to the uniform distribution (Kolmogorov and Smirnov), at a level of 1e-4
    expected = (torch.arange(count) + 0.5) / count
    assert (values - expected).abs().max() < 2.23 / count**0.5
    for values in (scores, scores.T):  # nor are documents or labels alike
        correlation = torch.corrcoef(values)
        correlation.fill_diagonal_(0)
        assert correlation.abs().max() < 6 / values.shape[1] ** 0.5


def test_equal_words_give_equal_scores():
    scores = random_scores(batch([[[1, 2, 3]], [[4]], [[1, 2, 3]], [[]]]), 9)
    assert torch.equal(scores[0], scores[2])
    assert not torch.equal(scores[0], scores[1])
    assert scores[3].isfinite().all()  # a document without a word


def test_mix_multiplies_as_splitmix64_does():
    """With its numbers, but shifts that keep the sign; others would change the reference."""

    def signed(value):
        return (value + 2**63) % 2**64 - 2**63

    def mixed(value):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            value = signed((value ^ (value >> shift)) * factor)
        return value ^ (value >> 31)

    values = [0, 1, 2, -1, 12_345, 2**31, 2**62 + 7, -(2**63)]
    assert mix(torch.tensor(values)).tolist() == [mixed(value) for value in values]
