import numpy as np
import pytest
import torch
from sklearn.metrics import ndcg_score

from gile_lightning.metrics import NdcgAt, PrecisionAt, RecallAt, rank_positives
from gile_lightning.metrics.propensity import propensity_scored_at

CUTOFFS = (1, 2, 3, 5, 40)


def documents(tied):
    """Scores and a target matrix; document 0 has no positive, document 1 nothing else."""
    generator = torch.Generator().manual_seed(7)
    scores = torch.randn(40, 23, generator=generator)
    target = torch.rand(scores.shape, generator=generator) < 0.2
    target[:, 3] = True
    target[0], target[1] = False, True
    return (2 * scores).round() if tied else scores, target


def ranked(scores, target):
    return rank_positives(scores, target.nonzero()[:, 1], target.sum(1))


def hits(scores, target):
    """Return the target matrix in the order of the ranking, lower columns first on ties."""
    order = np.argsort(-scores.numpy(), axis=1, kind="stable")
    return np.take_along_axis(target.numpy(), order, axis=1)


def equal(actual, expected):
    """Compare one number per document; the first has no positive."""
    assert actual.dtype == torch.float64
    assert actual[0].isnan()
    np.testing.assert_allclose(actual[1:].numpy(), expected[1:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("k", CUTOFFS)
def test_precision_and_recall(tied, k):
    scores, target = documents(tied)
    found = hits(scores, target)[:, :k].sum(1)
    ranks = ranked(scores, target)
    equal(PrecisionAt(k)(ranks), found / k)
    equal(RecallAt(k)(ranks), found / target.sum(1).clamp(min=1).numpy())


@pytest.mark.parametrize("k", CUTOFFS)
def test_ndcg_is_scikit_learns(k):
    """Of tied scores scikit-learn takes the first column last, so it gets their ranks."""
    for tied in (False, True):
        scores, target = documents(tied)
        order = np.argsort(-scores.numpy(), axis=1, kind="stable")
        places = -np.argsort(order, axis=1)
        expected = [
            ndcg_score(truth[None], place[None], k=k)
            for truth, place in zip(target.numpy(), places, strict=True)
        ]
        equal(NdcgAt(k)(ranked(scores, target)), expected)


def test_ndcg_by_hand():
    # positives in the places 1 and 3: 1 / log2(2) + 1 / log2(4) of 1 / log2(2) + 1 / log2(3)
    ranks = rank_positives(
        torch.tensor([[0.9, 0.5, 0.5, 0.1]]), torch.tensor([2, 0]), torch.tensor([2])
    )
    assert NdcgAt(1)(ranks).item() == 1
    assert NdcgAt(2)(ranks).item() == pytest.approx(1 / (1 + 1 / np.log2(3)))
    assert NdcgAt(3)(ranks).item() == pytest.approx(1.5 / (1 + 1 / np.log2(3)))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("k", CUTOFFS)
def test_propensity_scored_precision(tied, k):
    """Weighted hits among the k best; at best the heaviest positives are there."""
    scores, target = documents(tied)
    weights = torch.rand(23, generator=torch.Generator().manual_seed(8), dtype=torch.float64) + 1
    weights[5] = weights[9]  # equally rare labels
    gained, attainable = propensity_scored_at(ranked(scores, target), k, weights)
    weighted = target.numpy() * weights.numpy()
    order = np.argsort(-scores.numpy(), axis=1, kind="stable")
    best_first = np.take_along_axis(weighted, order, axis=1)
    heaviest_first = -np.sort(-weighted, axis=1)
    np.testing.assert_allclose(gained.numpy(), best_first[:, :k].sum(1), rtol=1e-12)
    np.testing.assert_allclose(attainable.numpy(), heaviest_first[:, :k].sum(1), rtol=1e-12)
    assert gained[0] == attainable[0] == 0


def test_order_of_the_ids_does_not_matter():
    scores, target = documents(tied=True)
    ids, counts = target.nonzero()[:, 1], target.sum(1)
    backwards = torch.cat([part.flip(0) for part in ids.split(counts.tolist())])
    weights = torch.linspace(1, 5, 23, dtype=torch.float64)
    one, other = (rank_positives(scores, x, counts) for x in (ids, backwards))
    for metric in (NdcgAt(5), lambda ranks: propensity_scored_at(ranks, 3, weights)):
        torch.testing.assert_close(metric(one), metric(other), equal_nan=True)


@pytest.mark.parametrize("shape", [(0, 7), (3, 0), (3, 7)])
def test_no_positive(shape):
    none = torch.empty(0, dtype=torch.long)
    ranks = rank_positives(torch.zeros(shape), none, torch.zeros(shape[0], dtype=torch.long))
    for metric in (PrecisionAt(3), RecallAt(3), NdcgAt(3)):
        assert metric(ranks).shape == shape[:1]
        assert metric(ranks).isnan().all()
    weights = torch.ones(shape[1], dtype=torch.float64)
    for found in propensity_scored_at(ranks, 3, weights):
        assert found.tolist() == [0] * shape[0]


@pytest.mark.parametrize("kind", [PrecisionAt, RecallAt, NdcgAt])
def test_k_below_one_is_an_error(kind):
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        kind(0)
