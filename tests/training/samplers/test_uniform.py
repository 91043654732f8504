import math
import random

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.training.samplers import SharedUniformLabels, UniformLabels
from gile_lightning.training.samplers.uniform import _distinct, _labels_before


def batch(documents):
    ids = torch.tensor([label for document in documents for label in document]).long()
    return ids, torch.tensor([len(document) for document in documents])


def equal(labels):
    """The frequencies of so many labels, which uniform draws do not look at."""
    return torch.ones(labels, dtype=torch.long)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def assert_uniform(counts):
    """Chi-square: mean n - 1, standard deviation √(2 (n - 1)); five deviations are allowed."""
    counts = counts.double()
    expected, freedom = counts.mean(), len(counts) - 1
    assert ((counts - expected) ** 2 / expected).sum() < freedom + 5 * math.sqrt(2 * freedom)


@pytest.mark.parametrize(
    ("sampler", "label_count", "draws"),
    [
        (UniformLabels(), 23_669, 71),  # 71.007: the paper's rate and labels
        (UniformLabels(), 1_000, 3),
        (UniformLabels(), 100, 1),  # 0.3, but at least one
        (UniformLabels(rate=0.26), 10, 3),
        (UniformLabels(rate=0.24), 10, 2),
        (UniformLabels(rate=1), 10, 10),
        (UniformLabels(negatives=7), 10, 7),
        (UniformLabels(rate=None, negatives=12), 10, 12),
    ],
    ids=str,
)
def test_number_of_negatives(sampler, label_count, draws):
    documents = [[1, 0], [], [5, 2, 9, 3], [8]]
    sample = sampler(*batch(documents), equal(label_count), generator())
    negatives = sample.weights * (1 - sample.targets)
    assert negatives.sum(1).tolist() == [draws] * len(documents)


def test_document_with_every_label_has_no_negative():
    sample = UniformLabels(negatives=5)(*batch([[0, 1, 2], [2]]), equal(3), generator())
    assert sample.weights[0].tolist() == [1, 1, 1]
    assert sample.weights[1].sum() == 6


def test_last_free_label_is_found():
    sample = UniformLabels(negatives=5)(*batch([[0, 1, 3], [4, 3, 2, 1]]), equal(5), generator())
    assert sample.weights[1].tolist() == [5, 1, 1, 1, 1]


def test_negatives_are_uniform_over_the_missing_labels():
    documents = [[9, 1, 4, 5], [], [0], [11, 10]]
    sample = UniformLabels(negatives=60_000)(*batch(documents), equal(12), generator())
    assert sample.labels.tolist() == list(range(12))
    for document, weights in zip(documents, sample.weights, strict=True):
        assert_uniform(weights[[label for label in range(12) if label not in document]])


@pytest.mark.parametrize("label_count", [5, 1_000, 23_669, 32_768, 100_000])
@pytest.mark.parametrize(("value", "position"), [(0.0, 0), (1 - 2**-24, -1)])
def test_ends_of_the_unit_interval(monkeypatch, label_count, value, position):
    """The smallest and the largest number that torch.rand can return give a missing label."""
    monkeypatch.setattr(torch, "rand", lambda *shape, **_: torch.full(shape, value))
    documents = [[0, label_count - 1], [], [3]]
    sample = UniformLabels(negatives=1)(*batch(documents), equal(label_count), generator())
    for document, row in zip(documents, sample.weights * (1 - sample.targets), strict=True):
        missing = sorted(set(range(label_count)) - set(document))
        assert sample.labels[row > 0].tolist() == [missing[position]]


def test_labels_before_the_missing_ones():
    source = random.Random(1)
    for label_count in (1, 2, 5, 9):
        sizes = [0, label_count, *(source.randint(0, label_count) for _ in range(20))]
        documents = [source.sample(range(label_count), size) for size in sizes]
        ids, counts = batch(documents)
        rows = torch.repeat_interleave(torch.arange(len(documents)), counts)
        order = torch.arange(label_count).repeat(len(documents), 1)
        before = _labels_before(order, rows, ids, counts, label_count)
        for document, row in zip(documents, (order + before).tolist(), strict=True):
            missing = [label for label in range(label_count) if label not in document]
            assert row[: len(missing)] == missing


@pytest.mark.parametrize("sampler", [UniformLabels, SharedUniformLabels])
@pytest.mark.parametrize("rate", [0, -1, 1.5, math.nan, None])
def test_rate_out_of_range(sampler, rate):
    with pytest.raises(InputError, match=f"rate is {rate}: .* above 0 and at most 1"):
        sampler(rate=rate)


@pytest.mark.parametrize("negatives", [0, -2])
def test_negatives_must_be_positive(negatives):
    with pytest.raises(InputError, match=f"above 0: negatives is {negatives}"):
        UniformLabels(negatives=negatives)


@pytest.mark.parametrize(
    ("rate", "label_count", "drawn"), [(0.1, 100, 10), (0.1, 2, 1), (0.26, 10, 3), (1, 10, 10)]
)
def test_shared_draw_has_no_label_twice(rate, label_count, drawn):
    sample = SharedUniformLabels(rate)(*batch([[], []]), equal(label_count), generator())
    assert len(sample.labels) == drawn
    assert sample.weights.tolist() == [[1] * drawn] * 2


def test_shared_draw_adds_to_the_labels_of_the_batch():
    sizes = set()
    for seed in range(50):
        sample = SharedUniformLabels(0.05)(*batch([[3, 90], [7]]), equal(100), generator(seed))
        assert {3, 90, 7} <= set(sample.labels.tolist())
        assert sample.weights.eq(1).all()
        sizes.add(len(sample.labels))
    assert max(sizes) == 3 + 5  # none of the five is one of the batch's, mostly
    assert min(sizes) >= 5


def test_shared_draw_is_uniform():
    counts = torch.zeros(10)
    for seed in range(1_000):
        counts[SharedUniformLabels(0.3)(*batch([[4], []]), equal(10), generator(seed)).labels] += 1
    assert counts[4] == 1_000
    assert_uniform(counts[[label for label in range(10) if label != 4]])


@pytest.mark.parametrize(("count", "total"), [(1, 40), (9, 40), (10, 41), (11, 40), (40, 40)])
def test_shared_draws_are_without_replacement_and_uniform(count, total):
    """Every label equally often, and every pair of labels: few of many, and most of them."""
    drawn = [_distinct(count, total, generator(seed)).tolist() for seed in range(2_000)]
    assert all(len(set(ids)) == count and set(ids) <= set(range(total)) for ids in drawn)
    singles = torch.tensor(drawn).flatten().bincount(minlength=total)
    # of draws without replacement the counts vary less than the chi-square test allows
    assert_uniform(singles)
    if count > 8:
        with_first = torch.tensor([ids for ids in drawn if 0 in ids]).flatten().bincount()[1:]
        assert_uniform(with_first)
