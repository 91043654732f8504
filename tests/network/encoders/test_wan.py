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
