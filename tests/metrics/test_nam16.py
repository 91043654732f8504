import numpy as np
import pytest
import torch

from gile_lightning.metrics import nam16_metrics


def script(scores, truth):
    """One document at a time, as the scripts do: zero the positives, count what is not below."""
    negatives = np.where(truth, 0, scores)
    ranks = sorted((negatives >= score).sum() for score in scores[truth])
    count, rest = len(ranks), (~truth).sum()
    precision = [(i + 1) / (rank + 1) for i, rank in enumerate(ranks)]
    return sum(ranks) / (count * max(rest, 1)), sum(precision) / count, float(ranks[0] > 0)


@pytest.mark.parametrize(
    ("scores", "positives", "ranking_loss", "average_precision", "one_error"),
    [
        ((0.9, 0.8, 0.7, 0.1, 0.05), (0, 1, 2), 0, 2, 0),
        ((0.9, 0.8, 0.1, 0.7, 0.05), (0, 1, 2), 1 / 6, 1.5, 0),
        # ranks 3, 3 and 5: each has the three zeros above it
        ((-0.1, -0.2, -0.9, -0.7, -0.8), (0, 1, 2), 11 / 6, (1 / 4 + 2 / 4 + 3 / 6) / 3, 1),
        # ranks 1 and 2: a tie is an error
        ((0.5, 0.5, 0.1, 0.1, 0.0), (0, 2), 0.5, (1 / 2 + 2 / 3) / 2, 1),
        # a score of 0 ties with the zeros of all positives, its own too: ranks 0 and 2
        ((0.5, 0.0, -1.0), (0, 1), 1, (1 / 1 + 2 / 3) / 2, 0),
        ((0.2, 0.1), (0, 1), 0, 1.5, 0),  # no negative
    ],
)
def test_by_hand(scores, positives, ranking_loss, average_precision, one_error):
    found = nam16_metrics(
        torch.tensor([scores]), torch.tensor(positives), torch.tensor([len(positives)])
    )
    expected = [ranking_loss, average_precision, one_error]
    assert [metric.item() for metric in found] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("tied", [False, True])
def test_batches_equal_the_script(tied):
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(30, 17, generator=generator)
    scores = (2 * scores).round() if tied else scores
    target = torch.rand(scores.shape, generator=generator) < 0.3
    target[4], target[5] = False, True
    found = torch.stack(nam16_metrics(scores, target.nonzero()[:, 1], target.sum(1)), dim=1)
    assert found.dtype == torch.float64
    assert found[4].isnan().all()
    rows = [row for row in range(30) if row != 4]
    expected = [script(scores[row].numpy(), target[row].numpy()) for row in rows]
    np.testing.assert_allclose(found[rows].numpy(), expected, rtol=0, atol=1e-12)
