import numpy as np
import pytest
import torch
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss

from gile_lightning.metrics import precision_at_k, ranking_metrics


def ragged(target):
    """Target matrix to ids and counts."""
    return target.nonzero()[:, 1], target.sum(1)


def oracle(scores, target):
    """Ranking loss, average precision, one-error, precision at 1, 2, 5: one list per document."""
    # scikit-learn rejects infinities, so it gets dense ranks, which have the same order and ties
    dense = [np.unique(row, return_inverse=True)[1] for row in scores.double().numpy()]
    rows = []
    for row, truth in zip(dense, target.numpy(), strict=True):
        if not truth.any():
            rows.append([np.nan] * 6)
            continue
        best = truth[np.argsort(-row, kind="stable")]
        rows.append(
            [
                label_ranking_loss(truth[None], row[None]),
                label_ranking_average_precision_score(truth[None], row[None]),
                float(not best[0]),
                *(best[:k].sum() / k for k in (1, 2, 5)),
            ]
        )
    return np.array(rows).reshape(-1, 6)


def all_metrics(scores, label_ids, label_counts):
    columns = [
        *ranking_metrics(scores, label_ids, label_counts),
        *(precision_at_k(scores, label_ids, label_counts, k) for k in (1, 2, 5)),
    ]
    assert all(column.dtype == torch.float64 for column in columns)
    return torch.stack(columns, dim=1).numpy()


def random_scores(kind, shape, generator):
    if kind == "random":
        return torch.randn(shape, generator=generator)
    if kind == "tied":
        return torch.randint(0, 4, shape, generator=generator).float()
    if kind == "equal":
        return torch.full(shape, -2.5)
    if kind == "signed zeros":
        return torch.tensor([-0.0, 0.0, 1.0])[torch.randint(0, 3, shape, generator=generator)]
    values = torch.tensor([-torch.inf, -1.0, 0.5, torch.inf])
    return values[torch.randint(0, 4, shape, generator=generator)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["random", "tied", "equal", "signed zeros", "infinite"])
def test_equals_scikit_learn(kind, dtype):
    generator = torch.Generator().manual_seed(1)
    for share, columns in ((0.05, 23), (0.5, 23), (0.9, 23), (0.01, 1000)):
        scores = random_scores(kind, (40, columns), generator).to(dtype)
        target = torch.rand(40, columns, generator=generator) < share
        target[0] = False
        target[1] = True
        target[2] = torch.arange(columns) == 7
        target[3] = torch.arange(columns) != 7
        actual = all_metrics(scores, *ragged(target))
        np.testing.assert_allclose(actual, oracle(scores, target), rtol=0, atol=1e-12)


def test_order_of_ids_layout_of_scores_and_integer_types_do_not_matter():
    generator = torch.Generator().manual_seed(3)
    scores = torch.randint(0, 4, (9, 30), generator=generator).float()
    target = torch.rand(9, 30, generator=generator) < 0.3
    ids, counts = ragged(target)
    expected = all_metrics(scores, ids, counts)
    backwards = torch.cat([part.flip(0) for part in ids.split(counts.tolist())])
    transposed = scores.t().contiguous().t().requires_grad_()
    actual = all_metrics(transposed, backwards.int(), counts.int())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("scores", "positives", "ranking_loss", "average_precision", "one_error"),
    [
        ((0.9, 0.8, 0.7, 0.1, 0.05), (0, 1, 2), 0, 1, 0),
        ((0.9, 0.8, 0.1, 0.7, 0.05), (0, 1, 2), 1 / 6, 11 / 12, 0),
        # 0 ties with the negative 1, 2 with 3 and is below 1; both pairs with 4 are right
        ((0.5, 0.5, 0.1, 0.1, 0.0), (0, 2), 0.5, 0.5, 0),
        ((-0.1, -0.2, -0.9, -0.7, -0.8), (0, 1, 2), 1 / 3, 13 / 15, 0),
        ((0.5, 0.5, 0.1), (1,), 0.5, 0.5, 1),  # the first of two best is a negative
        ((0.1, 0.2), (0, 1), 0, 1, 0),
    ],
)
def test_by_hand(scores, positives, ranking_loss, average_precision, one_error):
    actual = ranking_metrics(
        torch.tensor([scores]), torch.tensor(positives), torch.tensor([len(positives)])
    )
    assert [metric.item() for metric in actual] == pytest.approx(
        [ranking_loss, average_precision, one_error], abs=1e-12
    )


def test_scores_are_compared_in_their_own_precision():
    close = torch.tensor([[1.0, 1.0 + 1e-12]], dtype=torch.float64)
    positive = torch.tensor([1]), torch.tensor([1])
    assert ranking_metrics(close, *positive).ranking_loss == 0
    assert ranking_metrics(close.float(), *positive).ranking_loss == 1


def test_precision_divides_by_k_even_with_fewer_columns():
    scores, positives = torch.tensor([[0.3, 0.2, 0.1]]), (torch.tensor([0, 2]), torch.tensor([2]))
    assert precision_at_k(scores, *positives, k=5).item() == pytest.approx(2 / 5)


@pytest.mark.parametrize("shape", [(0, 7), (0, 0), (3, 0), (3, 7)])
def test_nothing_to_rank(shape):
    nothing = torch.empty(0, dtype=torch.long), torch.zeros(shape[0], dtype=torch.long)
    actual = all_metrics(torch.zeros(shape), *nothing)
    assert actual.shape == (shape[0], 6)
    assert np.isnan(actual).all()
