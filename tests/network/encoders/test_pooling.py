import pytest
import torch

from gile_lightning.network.encoders import AttentionPooling, AveragePooling, SumPooling
from gile_testing.segments import every_length, lengths_of, random


def test_score_bias_cancels():
    states, lengths = random(6, 3), torch.tensor([2, 4])
    torch.manual_seed(2)
    pooling = AttentionPooling(3).double()
    before = pooling.weights(states, lengths)
    sums = [segment.sum().item() for segment in before.split([2, 4])]
    assert sums == pytest.approx([1, 1], abs=1e-14)
    (before * random(6)).sum().backward()
    assert pooling.score.bias.grad.abs() < 1e-15
    assert pooling.score.weight.grad.abs().max() > 1e-3
    with torch.no_grad():
        pooling.score.bias.add_(2.5)
    torch.testing.assert_close(pooling.weights(states, lengths), before)


def test_sum_pooling_has_the_parameters_of_attention_but_trains_none():
    pooling = SumPooling(3)
    shapes = {name: value.shape for name, value in AttentionPooling(3).state_dict().items()}
    assert {name: value.shape for name, value in pooling.state_dict().items()} == shapes
    assert not any(p.requires_grad for p in pooling.parameters())


@every_length
@pytest.mark.parametrize("kind", [AttentionPooling, SumPooling, AveragePooling])
def test_pooling_of_distinct_states(kind, sizes):
    torch.manual_seed(2)
    pooling, lengths = kind(3).double(), lengths_of(sizes)
    table = random(4, 3).requires_grad_()
    ids = torch.randint(4, (sum(sizes),), generator=torch.Generator().manual_seed(1))
    expected = pooling(table[ids], lengths)
    torch.testing.assert_close(pooling(table, lengths, ids), expected, rtol=1e-12, atol=1e-14)
    assert torch.autograd.gradcheck(lambda t: pooling(t, lengths, ids), table)
