import pytest
import torch

from gile_lightning.metrics import rank_positives, select

SCORES = torch.zeros(2, 3)
IDS = torch.tensor([0, 1, 2])
COUNTS = torch.tensor([1, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SCORES[0], IDS, COUNTS), r"scores must be floating point \[documents, labels\]"),
        ((SCORES.long(), IDS, COUNTS), "scores must be floating point.*not torch.int64"),
        ((SCORES, IDS, COUNTS[:1]), "one entry for each of the 2 rows"),
        ((SCORES, IDS.float(), COUNTS), "label_ids must be integers in one dimension"),
        ((SCORES, IDS.unsqueeze(1), COUNTS), r"label_ids must be integers in one .* \[3, 1\]"),
        ((SCORES, IDS, COUNTS.bool()), "label_counts must be integers in one dimension"),
        ((SCORES, IDS, COUNTS + 1), "label_counts add up to 5, but there are 3 label_ids"),
        ((SCORES, IDS, torch.tensor([-1, 4])), "label_counts must not be negative"),
        ((SCORES, IDS + 1, COUNTS), r"label_ids must be in \[0, 3\).*span \[1, 3\]"),
        ((SCORES, IDS - 1, COUNTS), r"label_ids must be in \[0, 3\).*span \[-1, 1\]"),
        ((SCORES, torch.tensor([0, 1, 1]), COUNTS), "a label id is twice"),
        ((SCORES.index_fill(1, IDS[1], torch.nan), IDS, COUNTS), "NaN: the model diverged"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        rank_positives(*arguments)


def test_ranks_by_hand():
    scores = torch.tensor([[0.2, 0.9, 0.2, 0.1], [0.0, 0.0, 0.0, 0.0]])
    ranks = rank_positives(scores, torch.tensor([2, 0, 3]), torch.tensor([2, 1]))
    assert ranks.scores_not_below.tolist() == [3, 3, 4]
    assert ranks.positives_not_below.tolist() == [2, 2, 1]
    assert ranks.position.tolist() == [2, 1, 3]


def test_no_positive_has_a_rank():
    ranks = rank_positives(SCORES, IDS[:0], torch.zeros(2, dtype=torch.long))
    assert {len(values) for values in ranks[:6]} == {0}
    assert (ranks.label_counts.tolist(), ranks.columns) == ([0, 0], 3)


def test_order_of_values_within_documents():
    ranks = rank_positives(torch.zeros(3, 4), torch.tensor([3, 1, 2, 0]), torch.tensor([3, 0, 1]))
    order, place = ranks.sorted(torch.tensor([5.0, -1.0, 2.0, 0.0]))
    assert order.tolist() == [1, 2, 0, 3]
    assert place.tolist() == [0, 1, 2, 0]


def test_select_equals_slicing_the_target_matrix():
    whole = torch.rand(20, 15, generator=torch.Generator().manual_seed(4)) < 0.2
    for target in (whole, whole[:0]):
        for start, stop in ((0, 15), (0, 9), (9, 15), (4, 4), (15, 15)):
            ids, counts = select(target.nonzero()[:, 1], target.sum(1), start, stop)
            assert torch.equal(ids, target[:, start:stop].nonzero()[:, 1])
            assert torch.equal(counts, target[:, start:stop].sum(1))


@pytest.mark.parametrize(
    ("counts", "start", "stop", "message"),
    [
        (COUNTS, -1, 2, "not start -1, stop 2"),
        (COUNTS, 2, 1, "not start 2, stop 1"),
        (COUNTS + 1, 0, 3, "label_counts add up to 5"),
    ],
)
def test_errors_of_select(counts, start, stop, message):
    with pytest.raises(ValueError, match=message):
        select(IDS, counts, start, stop)
