import math
import random

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.training.samplers import SharedUniformLabels, UniformLabels
from gile_lightning.training.samplers.uniform import _labels_before
from gile_testing.draws import assert_uniform, batch, equal, generator


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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.half], ids=str)
def test_training_in_16_bits_draws_the_same(dtype):
    """There such numbers are PyTorch's default."""
    given = (*batch([[1, 0], [5, 2]]), equal(5_000))
    expected = UniformLabels(negatives=50)(*given, generator())
    torch.set_default_dtype(dtype)
    try:
        found = UniformLabels(negatives=50)(*given, generator())
    finally:
        torch.set_default_dtype(torch.float)
    assert found.labels.equal(expected.labels)
    assert found.weights.float().equal(expected.weights)


def test_documents_with_all_labels_or_all_but_one():
    documents = batch([[0, 1, 2, 3, 4], [4, 3, 2, 1]])
    weights = UniformLabels(negatives=5)(*documents, equal(5), generator()).weights
    assert weights.tolist() == [[1, 1, 1, 1, 1], [5, 1, 1, 1, 1]]


def test_many_labels_have_the_same_chance():
    """Of 2^24 numbers in [0, 1), as float32 has, a third of these labels would have two each."""
    labels = 3 * 2**22
    sample = UniformLabels(negatives=30_000)(*batch([[]]), equal(labels), generator())
    shares = (sample.labels % 3).bincount() / len(sample.labels)
    assert shares.tolist() == pytest.approx([1 / 3] * 3, abs=0.02)


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
@pytest.mark.parametrize("rate", [0, 1.5, math.nan, None])
def test_rate_out_of_range(sampler, rate):
    with pytest.raises(InputError, match=f"rate is {rate}: .* above 0 and at most 1"):
        sampler(rate=rate)


def test_negatives_must_be_positive():
    with pytest.raises(InputError, match="above 0: negatives is 0"):
        UniformLabels(negatives=0)
