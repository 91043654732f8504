import pytest
import torch

from gile_lightning.metrics import MicroF1
from gile_lightning.metrics.predictions import candidates, predictions


def test_predictions_keep_the_shape():
    logits = torch.tensor([[0.0, 1.0, -1.0], [2.0, -2.0, 0.5]])
    assert predictions(logits, 0.5).tolist() == [[0, 1, 0], [1, 0, 1]]
    assert predictions(logits.t(), 0.5).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert predictions(logits[:0], 0.5).shape == (0, 3)


def test_limit_in_float32():
    """A probability equal to the threshold in float32 is not above it."""
    logits = torch.tensor([[0.0, 1e-9, 1e-6]])
    assert predictions(logits, 0.5).tolist() == [[0, 0, 1]]


def test_low_precision_logit_where_the_floor_is_rounded_to():
    """0.01 is a logit of -4.5951; the next numbers of bfloat16 are -4.625 and -4.59375."""
    logits = torch.full((1, 640), -20.0)
    logits[0, 70] = -4.59375
    metric = MicroF1()
    metric.update(logits.bfloat16(), torch.tensor([70]), torch.tensor([1]))
    assert metric.totals[:, 0].tolist() == [1, 1, 1]


@pytest.mark.parametrize(("above", "left"), [(0, 0), (3, 3), (4, 16), (5, 16)])
def test_blocks_without_a_candidate_are_left_out(above, left):
    """A fourth of the 16 blocks of 64 columns at most; 10 columns that fill no block stay."""
    logits = torch.full((2, 8 * 64 + 10), -0.1)  # below 0, the logit of 0.5
    for block in range(above):
        logits[block % 2, 64 * block + 7] = 0.1
    found = torch.cat([*candidates(logits, 0.5)])
    assert len(found) == 64 * left + 20
    assert (found > 0).sum() == above


def test_thresholds_0_001_apart_are_told_apart():
    """Their logits are 0 and 0.004; nearer ones may be in one of the 1,024 cells."""
    metric = MicroF1([0.5, 0.501])
    metric.update(torch.tensor([[-0.001, 0.001, 0.005]]), torch.tensor([1]), torch.tensor([1]))
    assert metric.totals[1, -2:].tolist() == [2, 1]
    with pytest.raises(ValueError, match=r"at least 0\.001 apart"):
        MicroF1([0.5, 0.5009])


def test_all_logits_on_a_device_are_candidates():
    """A device without memory here; parts keep what is made of them small."""
    parts = candidates(torch.empty(3, 2**23, device="meta"), 0.5, finite=True)
    assert [len(part) for part in parts] == [2**24, 2**23]
