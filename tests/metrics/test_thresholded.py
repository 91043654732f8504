import numpy as np
import pytest
import torch
from sklearn.metrics import precision_recall_fscore_support

from gile_lightning.metrics import (
    SELECTION_THRESHOLD,
    MicroF1,
    ThresholdScores,
    micro_f1,
    paper_threshold,
)
from gile_lightning.metrics.thresholded import micro_f1_terms

GRID = [percent / 100 for percent in range(1, 100)]


def ragged(target):
    """Target matrix to ids and counts."""
    return target.nonzero()[:, 1], target.sum(1)


def oracle(probabilities, target, thresholds=GRID):
    """Precision, recall and F1 of scikit-learn, [3, T], thresholds rounded like probabilities."""
    values, (count, columns) = probabilities.numpy(), target.shape
    truth = np.zeros((count, columns + 1), dtype=bool)  # scikit-learn takes one column for classes
    truth[:, :columns] = target.numpy()
    rows = []
    for threshold in thresholds:
        predicted = np.zeros_like(truth)
        predicted[:, : values.shape[1]] = values > np.asarray(threshold, values.dtype)
        rows.append(
            precision_recall_fscore_support(truth, predicted, average="micro", zero_division=0)[:3]
        )
    return np.array(rows).T


def documents(rows=17, columns=150, seed=5, spread=2.0):
    """Logits, and a target matrix that is likelier where they are high; document 3 is without."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, columns, generator=generator) * spread - 1
    target = torch.rand(logits.shape, generator=generator) < (logits - 2).sigmoid()
    target[3] = False
    return logits, target


def feed(logits, target, sizes, metric=None):
    metric = metric or MicroF1()
    for x, y in zip(logits.split(sizes), target.split(sizes), strict=True):
        metric.update(x, *ragged(y))
    return metric.compute()


def stack(scores):
    return torch.stack([scores.precision, scores.recall, scores.f1]).numpy()


def test_by_hand():
    probabilities = torch.tensor([[0.9, 0.5, 0.1], [0.3, 0.6, 0.8]])
    gold = torch.tensor([0, 2, 1]), torch.tensor([2, 1])
    for threshold, expected in [
        (0.55, (2 / 3, 2 / 3, 2 / 3)),  # predicted 0 | 1, 2
        (0.5, (2 / 3, 2 / 3, 2 / 3)),  # a probability of 0.5 is not above it
        (0.2, (2 / 5, 2 / 3, 1 / 2)),
        (0.85, (1, 1 / 3, 1 / 2)),
        (0.95, (0, 0, 0)),
    ]:
        scores = micro_f1(probabilities, *gold, threshold)
        assert [score.item() for score in scores] == pytest.approx(expected, abs=1e-12)
        assert all(score.dtype == torch.float64 for score in scores)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_function_equals_scikit_learn(dtype):
    logits, target = documents()
    probabilities = logits.to(dtype).sigmoid()
    expected = oracle(probabilities, target)
    for i, threshold in enumerate(GRID):
        actual = micro_f1(probabilities, *ragged(target), threshold)
        assert [score.item() for score in actual] == pytest.approx(list(expected[:, i]), abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_probability_equal_to_the_threshold_is_not_predicted(dtype):
    gold = torch.tensor([0]), torch.tensor([1])
    for threshold in (0.1, 0.2, 0.3, 0.4, 0.7):
        equal = torch.tensor([[threshold]], dtype=dtype)
        above = torch.tensor([[threshold]], dtype=dtype).nextafter(torch.ones(1, 1, dtype=dtype))
        assert micro_f1(equal, *gold, threshold).f1 == 0
        assert micro_f1(above, *gold, threshold).f1 == 1


@pytest.mark.parametrize("spread", [0.0, 2.0, 30.0])
@pytest.mark.parametrize("shift", [0.0, -8.0])
@pytest.mark.parametrize("columns", [1, 150])
def test_metric_equals_scikit_learn(spread, shift, columns):
    logits, target = documents(columns=columns, spread=spread)
    logits += shift
    expected = oracle(logits.sigmoid(), target)
    np.testing.assert_allclose(stack(feed(logits, target, [17])), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_sigmoid_is_of_float32(dtype):
    logits, target = documents()
    expected = oracle(logits.to(dtype).float().sigmoid(), target)
    actual = stack(feed(logits.to(dtype), target, [17]))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("columns", [64, 65 * 64])
def test_logits_beside_every_threshold(columns):
    """Each row has logits whose sigmoids are up to eight floats from one of the thresholds."""
    limits = torch.tensor(GRID)
    near = limits.double()[:, None] * (1 + torch.arange(-32, 32) * 2.0**-26)
    logits = torch.full((99, columns), -50.0)
    logits[:, -64:] = torch.logit(near).float()
    probabilities = logits.sigmoid()
    share_above = (probabilities[:, -64:] > limits[:, None]).float().mean(1)
    assert ((share_above > 0.3) & (share_above < 0.7)).all()
    metric = MicroF1()
    metric.update(logits, torch.arange(columns - 64, columns).repeat(99), torch.full((99,), 64))
    above = [(probabilities > limit).sum().item() for limit in limits]
    assert metric.totals.tolist() == [above, above, [99 * 64] * 99]


def test_infinite_logits():
    logits = torch.tensor([[torch.inf, -torch.inf, torch.inf]])
    metric = MicroF1()
    metric.update(logits, torch.tensor([0, 1]), torch.tensor([2]))
    for threshold in (0.01, 0.99):
        assert metric.compute().at(threshold) == {"precision": 0.5, "recall": 0.5, "f1": 0.5}


def test_positives_without_a_column_are_missed():
    logits, target = documents()
    scorable = logits[:, :100]
    expected = oracle(scorable.sigmoid(), target)
    actual = stack(feed(scorable, target, [17]))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)
    one = micro_f1(scorable.sigmoid(), *ragged(target), 0.3)
    assert [score.item() for score in one] == pytest.approx(list(expected[:, 29]), abs=1e-12)
    assert micro_f1(logits[:, :0], *ragged(target), 0.3) == (0, 0, 0)
    assert not stack(feed(logits[:, :0], target, [17])).any()


@pytest.mark.parametrize("columns", [0, 1, 150])
def test_terms_of_documents_add_up_to_the_figures(columns):
    """Those of documents without labels, and of labels without a column, too."""
    draws = torch.Generator().manual_seed(3)
    logits = torch.randn(17, columns, generator=draws) - 1
    counts = torch.randint(0, 4, (17,), generator=draws)
    ids = torch.cat([torch.randperm(160, generator=draws)[:n] for n in counts.tolist()])
    terms = micro_f1_terms(logits, ids, counts, 0.3)
    expected = micro_f1(logits.sigmoid(), ids, counts, 0.3).f1
    above, below = terms.double().sum(0)
    assert float(above / below) == pytest.approx(float(expected))
    for i, (row, own) in enumerate(zip(logits, torch.split(ids, counts.tolist()), strict=True)):
        predicted = set((row.sigmoid() > 0.3).nonzero().flatten().tolist())
        assert terms[i, 0] == 2 * len(predicted & set(own.tolist()))
        assert terms[i, 1] == len(predicted) + len(own)


def test_layout_types_and_order_of_ids_do_not_matter():
    logits, target = documents()
    expected = stack(feed(logits, target, [17]))
    ids, counts = ragged(target)
    backwards = torch.cat([part.flip(0) for part in ids.split(counts.tolist())])
    wider = torch.cat([logits, logits], dim=1).requires_grad_()
    for layout in (wider[:, :150], logits.t().contiguous().t()):
        metric = MicroF1()
        metric.update(layout, backwards.int(), counts.int())
        np.testing.assert_array_equal(stack(metric.compute()), expected)


def test_parts_of_large_batches():
    """More logits than are counted at once, dense and sparse."""
    generator = torch.Generator().manual_seed(0)
    for shift in (0, -9):
        logits = torch.randn(23, 20_011, generator=generator) + shift
        logits[:, ::4001] += 9
        ids = torch.randint(0, 20_011, (23,), generator=generator)
        metric = MicroF1()
        metric.update(logits, ids, torch.ones(23, dtype=torch.long))
        probabilities = logits.sigmoid()
        limits = torch.tensor(GRID)
        assert metric.totals.tolist() == [
            [int((probabilities[range(23), ids] > limit).sum()) for limit in limits],
            [int((probabilities > limit).sum()) for limit in limits],
            [23] * 99,
        ]


@pytest.mark.parametrize("rows", [0, 4])
def test_nothing_to_find(rows):
    nothing = torch.empty(0, dtype=torch.long), torch.zeros(rows, dtype=torch.long)
    metric = MicroF1()
    assert metric.compute().best() == (0.5, 0)  # warnings are errors here
    metric.update(torch.zeros(rows, 7), *nothing)
    assert not stack(metric.compute()).any()
    assert micro_f1(torch.zeros(rows, 7), *nothing, 0.2) == (0, 0, 0)


def test_own_thresholds():
    logits, target = documents()
    scores = feed(logits, target, [17], MicroF1([0.999, 1e-6, 0.25, 0.3]))
    assert scores.thresholds == (1e-6, 0.2, 0.25, 0.3, 0.4, 0.999)
    expected = oracle(logits.sigmoid(), target, scores.thresholds)
    np.testing.assert_allclose(stack(scores), expected, rtol=0, atol=1e-12)
    assert scores.at(0.1 + 0.2)["f1"] == scores.f1[3]
    with pytest.raises(ValueError, match=r"0\.5 is none of the 6 thresholds counted, "):
        scores.at(0.5)
    assert MicroF1().thresholds == tuple(GRID)


@pytest.mark.parametrize(
    ("f1", "best"),
    [
        ([0, 1, 1, 1, 0], (0.3, 1)),
        ([0, 0, 0.5, 0.5, 0], (0.3, 0.5)),  # the lower of two
        ([1, 0, 0, 1, 1], (0.4, 1)),  # nearer to 0.3, the middle, than 0.1 and 0.5
        ([1, 0, 0, 0, 1], (0.1, 1)),
        ([0, 0, 0, 0, 0], (0.3, 0)),
    ],
)
def test_best(f1, best):
    zeros = torch.zeros(5)
    scores = ThresholdScores((0.1, 0.2, 0.3, 0.4, 0.5), zeros, zeros, torch.tensor(f1).double())
    assert scores.best() == best


def test_best_of_thresholds_about_as_far_from_the_middle():
    """0.2 is 4e-9 farther from 0.25 than 0.3."""
    ones = torch.ones(4)
    assert ThresholdScores((0.1, 0.2 - 4e-9, 0.3, 0.4), ones, ones, ones).best() == (0.3, 1)
    f1 = torch.tensor([0.25, 0.75, 0.5])
    scores = ThresholdScores((0.1, 0.155, 0.3), f1, f1, f1)
    assert scores.best() == (0.155, 0.75)
    assert scores.best(among=(0.1, 0.2, 0.3)) == (0.3, 0.5)


LOGITS = torch.zeros(2, 3)
IDS = torch.tensor([0, 1, 2])
COUNTS = torch.tensor([1, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LOGITS[0], IDS, COUNTS), r"must be floating point \[documents, labels\]"),
        ((LOGITS, IDS, COUNTS[:1]), "one entry for each of the 2 documents"),
        ((LOGITS, IDS.float(), COUNTS), "label_ids must be integers in one dimension"),
        ((LOGITS, IDS, COUNTS + 1), "label_counts add up to 5, but there are 3 label_ids"),
        ((LOGITS, IDS - 1, COUNTS), "label_ids must not be negative, as -1 is"),
        ((LOGITS, torch.tensor([0, 9, 9]), COUNTS), "a label id is twice"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        micro_f1(*arguments, 0.2)
    with pytest.raises(ValueError, match=message):
        MicroF1().update(*arguments)


@pytest.mark.parametrize("column", [63, 64])
def test_a_single_nan_is_found(column):
    logits = torch.full((2, 70), -9.0)
    logits[1, column] = torch.nan
    with pytest.raises(ValueError, match="NaN: the model diverged, look at the learning rate"):
        MicroF1().update(logits, IDS, COUNTS)


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([0.0], "above 0 and below 1"),
        ([1.0], "above 0 and below 1"),
        ([1.5], "above 0 and below 1"),
        ([0.5, 0.5], "at least 0.001 apart"),
        ([0.5, 0.5001], "at least 0.001 apart"),
        ([0.2001], "with 0.2, 0.3 and 0.4, must be at least 0.001 apart"),
    ],
)
def test_errors_of_thresholds(thresholds, message):
    with pytest.raises(ValueError, match=message):
        MicroF1(thresholds)


def test_thresholds_of_the_paper():
    assert paper_threshold(399) == 0.4
    assert paper_threshold(400) == 0.2
    assert paper_threshold(28, low_resource=True) == paper_threshold(1058, True) == 0.3
    assert SELECTION_THRESHOLD == 0.2
