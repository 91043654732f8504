import math

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.training.samplers import SharedUniformLabels
from gile_lightning.training.samplers.shared_uniform import _distinct
from gile_testing.draws import assert_uniform, batch, equal, generator


@pytest.mark.parametrize(
    ("rate", "label_count", "drawn"), [(0.1, 100, 10), (0.1, 2, 1), (0.26, 10, 3), (1, 10, 10)]
)
def test_draw_has_no_label_twice(rate, label_count, drawn):
    sample = SharedUniformLabels(rate)(*batch([[], []]), equal(label_count), generator())
    assert len(sample.labels) == drawn
    assert sample.weights.tolist() == [[1] * drawn] * 2


@pytest.mark.parametrize(("label_count", "drawn"), [(4, 2), (10, 5), (12, 5), (1_000, 5)])
def test_no_more_than_the_most_are_drawn(label_count, drawn):
    sampler = SharedUniformLabels(0.5, most=5)
    sample = sampler(*batch([[], []]), equal(label_count), generator())
    assert len(sample.labels) == drawn
    rates = sampler.negative_rates(equal(label_count), 1)
    assert rates.tolist() == pytest.approx([drawn / label_count] * label_count)


def test_an_impossible_most_is_refused():
    with pytest.raises(InputError, match="most is 0"):
        SharedUniformLabels(most=0)


def test_draw_adds_to_the_labels_of_the_batch():
    sizes = set()
    for seed in range(50):
        sample = SharedUniformLabels(0.05)(*batch([[3, 90], [7]]), equal(100), generator(seed))
        assert {3, 90, 7} <= set(sample.labels.tolist())
        assert sample.weights.eq(1).all()
        sizes.add(len(sample.labels))
    assert max(sizes) == 3 + 5  # none of the five is one of the batch's, mostly
    assert min(sizes) >= 5


@pytest.mark.parametrize(("count", "total"), [(1, 40), (9, 40), (10, 41), (11, 40), (40, 40)])
def test_draws_are_without_replacement_and_uniform(count, total):
    """Every label equally often, and every pair of labels: few of many, and most of them."""
    drawn = [_distinct(count, total, generator(seed)).tolist() for seed in range(2_000)]
    assert all(len(set(ids)) == count and set(ids) <= set(range(total)) for ids in drawn)
    singles = torch.tensor(drawn).flatten().bincount(minlength=total)
    # of draws without replacement the counts vary less than the chi-square test allows
    assert_uniform(singles)
    if count > 8:
        with_first = torch.tensor([ids for ids in drawn if 0 in ids]).flatten().bincount()[1:]
        assert_uniform(with_first)


@pytest.mark.parametrize(("count", "total"), [(1, 4), (10, 40), (40, 1000), (2, 7), (11, 40)])
def test_all_ids_are_listed_only_for_more_than_a_fourth_of_them(monkeypatch, count, total):
    """Else twice as many as wanted are drawn, and 64 more: seldom are too few of them distinct."""
    drawn = []
    for name in ("randperm", "randint"):
        draw = getattr(torch, name)
        spy = lambda *given, draw=draw, **more: drawn.append(draw(*given, **more)) or drawn[-1]  # noqa: E731
        monkeypatch.setattr(torch, name, spy)
    assert len(_distinct(count, total, generator()).unique()) == count
    few = 4 * count <= total
    assert {len(ids) for ids in drawn} == {2 * count + 64 if few else total}


def test_probability_of_a_draw():
    """Three of ten labels."""
    sample = SharedUniformLabels(0.3, "log_q")(*batch([[1]]), equal(10), generator())
    assert sample.offsets.tolist() == pytest.approx([math.log(0.3)] * len(sample.labels))
