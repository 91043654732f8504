"""The word-level attention network beside a document by document implementation."""

from functools import partial

import pytest
import torch

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders import WAN, AttentionPooling, Dense, SumPooling

LENGTHS = [3, 1, 0, 6, 2]


def attention(states, pooling):
    """Eq. 2: v_t = f(h_t), a_t = exp(v_t u) / sum_j exp(v_j u), the sum of a_t h_t."""
    v = torch.clamp(states @ pooling.hidden.weight.T + pooling.hidden.bias, min=0)
    weights = torch.softmax(v @ pooling.score.weight[0] + pooling.score.bias, dim=0)
    return sum((a * h for a, h in zip(weights, states, strict=True)), states.new_zeros(5))


def plain_sum(states, pooling):
    return sum(states, states.new_zeros(5))


@pytest.mark.parametrize(
    ("pooling", "oracle"),
    [(AttentionPooling, attention), (SumPooling, plain_sum)],
    ids=["attention", "sum"],
)
def test_equals_one_document_at_a_time(pooling, oracle):
    torch.manual_seed(1)
    wan = WAN(4, layer=partial(Dense, dim=5), pooling=pooling).double()
    words = torch.randn(sum(LENGTHS), 4, dtype=torch.double, requires_grad=True)
    lengths = torch.tensor(LENGTHS)
    linear = wan.layer.linear
    expected = torch.stack(
        [
            oracle(torch.clamp(document @ linear.weight.T + linear.bias, min=0), wan.pooling)
            for document in words.split(LENGTHS)
        ]
    )
    actual = wan(words, Texts(torch.arange(len(words)), lengths, torch.ones_like(lengths)))
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)

    inputs = [words, *(p for p in wan.parameters() if p.requires_grad)]
    upstream = torch.randn_like(actual)
    torch.testing.assert_close(
        torch.autograd.grad(actual, inputs, upstream),
        torch.autograd.grad(expected, inputs, upstream),
        rtol=1e-10,
        atol=1e-12,
    )


def test_by_hand():
    """One dimension: states relu(2x - 1), scores relu(h) u, u = ln 3 / 4."""
    wan = WAN(1, layer=partial(Dense, dim=1)).double()
    values = {
        "layer.linear.weight": [[2.0]],
        "layer.linear.bias": [-1.0],
        "pooling.hidden.weight": [[1.0]],
        "pooling.hidden.bias": [0.0],
        "pooling.score.weight": [[torch.tensor(3.0).double().log() / 4]],
        "pooling.score.bias": [0.7],
    }
    wan.load_state_dict({key: torch.tensor(value).double() for key, value in values.items()})
    words = torch.tensor([[0.0], [2.5]], dtype=torch.double)  # states 0 and 4, weights 1:3
    assert wan(words, torch.tensor([2]), torch.tensor([1])).item() == pytest.approx(3.0)


def test_sizes_of_the_paper():
    """Dense 100 to 100 has 10,100 parameters, the attention 10,201."""
    for pooling in (AttentionPooling, SumPooling):
        wan = WAN(100, pooling=pooling)
        assert wan.output_dim == 100
        assert sum(p.numel() for p in wan.layer.parameters()) == 10_100
        assert sum(p.numel() for p in wan.pooling.parameters()) == 10_201
