import torch

from gile_lightning.network.outputs import MatchersOnly


def test_logits_of_zero_and_no_parameters():
    output = MatchersOnly(3, 4, 6)
    assert not list(output.parameters())
    assert torch.equal(output(torch.ones(2, 3), torch.ones(5, 4)), torch.zeros(2, 5))
