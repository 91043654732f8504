import numpy as np
import pytest
import torch
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss

from gile_lightning.metrics import precision_at_k, rank_positives, ranking_metrics, select


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
    for share in (0.05, 0.5, 0.9):
        scores = random_scores(kind, (40, 23), generator).to(dtype)
        target = torch.rand(40, 23, generator=generator) < share
        target[0] = False
        target[1] = True
        target[2] = torch.arange(23) == 7
        target[3] = torch.arange(23) != 7
        actual = all_metrics(scores, *ragged(target))
        np.testing.assert_allclose(actual, oracle(scores, target), rtol=0, atol=1e-12)


def test_many_labels_and_skewed_counts():
    generator = torch.Generator().manual_seed(2)
    scores = torch.randn(12, 3000, generator=generator)
    target = torch.rand(12, 3000, generator=generator) < torch.linspace(0, 1, 12)[:, None] ** 3
    scores += 2 * target
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


def test_ranks_serve_all_metrics():
    scores = torch.tensor([[0.2, 0.9, 0.2, 0.1], [0.0, 0.0, 0.0, 0.0]])
    ranks = rank_positives(scores, torch.tensor([2, 0, 3]), torch.tensor([2, 1]))
    assert ranks.scores_not_below.tolist() == [3, 3, 4]
    assert ranks.positives_not_below.tolist() == [2, 2, 1]
    assert ranks.position.tolist() == [2, 1, 3]
    assert ranks.precision_at(2).tolist() == [0.5, 0]


SCORES = torch.zeros(2, 3)
IDS = torch.tensor([0, 1, 2])
COUNTS = torch.tensor([1, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SCORES[0], IDS, COUNTS), r"scores must be floating point \[documents, labels\]"),
        ((SCORES.long(), IDS, COUNTS), "scores must be floating point.*not torch.int64"),
        ((SCORES, IDS, COUNTS[:1]), "one entry for each of the 2 rows"),
        ((SCORES, IDS, COUNTS[None]), "one entry for each of the 2 rows"),
        ((SCORES, IDS[None], COUNTS), "label_ids must be integers in one dimension"),
        ((SCORES, IDS.float(), COUNTS), "label_ids must be integers in one dimension"),
        ((SCORES, IDS, COUNTS.bool()), "label_counts must be integers in one dimension"),
        ((SCORES, IDS, COUNTS + 1), "label_counts add up to 5, but there are 3 label_ids"),
        ((SCORES, IDS, torch.tensor([-1, 4])), "label_counts must not be negative"),
        ((SCORES, IDS + 1, COUNTS), r"label_ids must be in \[0, 3\).*span \[1, 3\]"),
        ((SCORES, IDS - 1, COUNTS), r"label_ids must be in \[0, 3\).*span \[-1, 1\]"),
        ((SCORES, torch.tensor([0, 1, 1]), COUNTS), "a label id is twice"),
        ((SCORES * torch.nan, IDS, COUNTS), "NaN: the model diverged, look at the learning rate"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        ranking_metrics(*arguments)
    with pytest.raises(ValueError, match=message):
        precision_at_k(*arguments, k=1)


def test_a_single_nan_is_found():
    scores = SCORES.clone()
    scores[1, 1] = torch.nan
    with pytest.raises(ValueError, match="the model diverged"):
        ranking_metrics(scores, IDS, COUNTS)


def test_k_below_one_is_an_error():
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        precision_at_k(SCORES, IDS, COUNTS, k=0)


def test_select_equals_slicing_the_target_matrix():
    target = torch.rand(20, 15, generator=torch.Generator().manual_seed(4)) < 0.2
    for start, stop in ((0, 15), (0, 9), (9, 15), (4, 4), (15, 15)):
        ids, counts = select(*ragged(target), start, stop)
        expected_ids, expected_counts = ragged(target[:, start:stop])
        assert torch.equal(ids, expected_ids)
        assert torch.equal(counts, expected_counts)


def test_select_without_documents():
    ids, counts = select(torch.empty(0, dtype=torch.long), torch.empty(0, dtype=torch.long), 0, 5)
    assert ids.shape == counts.shape == (0,)


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 1)])
def test_select_bounds(start, stop):
    with pytest.raises(ValueError, match=f"not start {start}, stop {stop}"):
        select(IDS, COUNTS, start, stop)


def test_select_checks_the_counts():
    with pytest.raises(ValueError, match="label_counts add up to 5"):
        select(IDS, COUNTS + 1, 0, 3)
