import pytest
import torch

from gile_lightning.network.encoders.pooling import (
    AttentionPooling,
    AveragePooling,
    SumPooling,
    segment_softmax,
    segment_sum,
)

LENGTHS = {
    "several": [3, 1, 4],
    "empty segments": [0, 2, 0, 0, 3, 0],
    "one segment": [5],
    "only empty": [0, 0],
    "none": [],
}
every_length = pytest.mark.parametrize("sizes", LENGTHS.values(), ids=LENGTHS.keys())


def random(*shape):
    return torch.randn(shape, dtype=torch.double, generator=torch.Generator().manual_seed(5))


def lengths_of(sizes):
    return torch.tensor(sizes, dtype=torch.long)


def test_softmax_by_hand():
    scores = torch.tensor([0.0, 3.0, 7.0]).double()
    scores[1] = scores[1].log()
    weights = segment_softmax(scores, torch.tensor([2, 1]))
    torch.testing.assert_close(weights, torch.tensor([0.25, 0.75, 1.0]).double())


@every_length
@pytest.mark.parametrize("scale", [1.0, 1e4, 0.0], ids=["usual", "huge", "equal"])
def test_softmax_equals_torch_segment_by_segment(sizes, scale):
    scores = random(sum(sizes)) * scale
    expected = [torch.softmax(segment, dim=0) for segment in scores.split(sizes)]
    actual = segment_softmax(scores, lengths_of(sizes))
    torch.testing.assert_close(actual, torch.cat([scores[:0], *expected]), rtol=1e-12, atol=0)


def test_softmax_of_huge_float32_scores_is_finite():
    scores = torch.tensor([1e4, -1e4, 1e4, -1e4, -1e4])
    weights = segment_softmax(scores, torch.tensor([3, 2]))
    assert weights.tolist() == [0.5, 0.0, 0.5, 0.5, 0.5]


@every_length
@pytest.mark.parametrize("weighted", [False, True])
def test_sum_equals_a_loop(sizes, weighted):
    values = random(sum(sizes), 3)
    weights = random(sum(sizes)) if weighted else None
    factors = torch.ones(sum(sizes)).double() if weights is None else weights
    expected = [
        sum((v * w for v, w in zip(*pair, strict=True)), torch.zeros(3).double())
        for pair in zip(values.split(sizes), factors.split(sizes), strict=True)
    ]
    actual = segment_sum(values, lengths_of(sizes), weights)
    expected = torch.stack(expected) if expected else torch.zeros(0, 3).double()
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)


@every_length
def test_gradients_are_those_of_finite_differences(sizes):
    lengths = lengths_of(sizes)
    values = random(sum(sizes), 3).requires_grad_()
    scores = random(sum(sizes)).requires_grad_()
    torch.manual_seed(2)
    pooling = AttentionPooling(3).double()
    assert torch.autograd.gradcheck(lambda v: segment_sum(v, lengths), values)
    assert torch.autograd.gradcheck(lambda v, w: segment_sum(v, lengths, w), (values, scores))
    assert torch.autograd.gradcheck(lambda s: segment_softmax(s, lengths), scores)
    assert torch.autograd.gradcheck(lambda v: pooling(v, lengths), values)


def test_score_bias_cancels():
    states, lengths = random(6, 3), torch.tensor([2, 4])
    torch.manual_seed(2)
    pooling = AttentionPooling(3).double()
    before = pooling.weights(states, lengths)
    (before * random(6)).sum().backward()
    assert pooling.score.bias.grad.abs() < 1e-15
    assert pooling.score.weight.grad.abs().max() > 1e-3
    with torch.no_grad():
        pooling.score.bias.add_(2.5)
    torch.testing.assert_close(pooling.weights(states, lengths), before)


def test_attention_weights_sum_to_one():
    torch.manual_seed(2)
    weights = AttentionPooling(3).double().weights(random(6, 3), torch.tensor([2, 0, 3, 1]))
    assert weights.gt(0).all()
    for segment in weights.split([2, 3, 1]):
        assert segment.sum().item() == pytest.approx(1, abs=1e-14)


def test_sum_pooling_has_the_parameters_of_attention_but_trains_none():
    pooling = SumPooling(3)
    shapes = {name: value.shape for name, value in AttentionPooling(3).state_dict().items()}
    assert {name: value.shape for name, value in pooling.state_dict().items()} == shapes
    assert not any(p.requires_grad for p in pooling.parameters())


@every_length
def test_distinct_vectors_and_ids_give_the_sums_of_their_places(sizes):
    table, lengths = random(4, 3).requires_grad_(), lengths_of(sizes)
    ids = torch.randint(4, (sum(sizes),), generator=torch.Generator().manual_seed(1))
    weights = random(sum(sizes)).requires_grad_()
    for factors in (None, weights):
        expected = segment_sum(table[ids], lengths, factors)
        actual = segment_sum(table, lengths, factors, ids)
        torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)
    assert torch.autograd.gradcheck(lambda t: segment_sum(t, lengths, None, ids), table)
    both = (table, weights)
    assert torch.autograd.gradcheck(lambda t, w: segment_sum(t, lengths, w, ids), both)


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
