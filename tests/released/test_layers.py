import numpy as np
import pytest
import torch
from torch import nn

from gile_lightning.common.errors import InputError
from gile_lightning.released import (
    ReleasedAttention,
    ReleasedBiGRU,
    ReleasedDense,
    ReleasedGRU,
)
from gile_testing import released_oracle as oracle

B, T, INPUT, DIM = 3, 7, 4, 5
LAYERS = [ReleasedDense, ReleasedGRU, ReleasedBiGRU]


@pytest.fixture
def values():
    torch.manual_seed(2)
    return 3 * torch.randn(B, T, INPUT, dtype=torch.double)  # some gates saturate


def arrays(gru):
    return [p.detach().numpy() for p in (gru.kernel, gru.recurrent_kernel, gru.bias)]


def make(layer):
    torch.manual_seed(5)
    made = layer(INPUT, DIM).double()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.7)
    return made


def equal(actual, expected):
    np.testing.assert_allclose(actual.detach(), expected, rtol=0, atol=1e-13)


def test_gru_by_hand():
    """One step of each gate: hs(1) = 0.7 and hs(-1) = 0.3, then states of both signs."""
    gru = ReleasedGRU(1, 1).double()
    with torch.no_grad():
        gru.kernel.copy_(torch.tensor([[1.0, -1.0, 0.5]]))
        gru.recurrent_kernel.copy_(torch.tensor([[2.0, 0.0, 3.0]]))
        gru.bias.copy_(torch.tensor([0.0, 0.0, 0.25]))
    first = 0.3 * np.tanh(0.75)  # z = 0.7, and the state before is 0
    # x = -10: z = hs(-10 + 2 first) = 0, r = hs(10) = 1
    second = np.tanh(-5 + 3 * first + 0.25)
    # x = 2: z = hs(2 + 2 second), r = hs(-2) = 0.1, which comes before the recurrent product
    update = 0.2 * (2 + 2 * second) + 0.5
    third = update * second + (1 - update) * np.tanh(1 + 3 * (0.1 * second) + 0.25)
    states = gru(torch.tensor([[[1.0], [-10.0], [2.0]]], dtype=torch.double))
    equal(states, [[[first], [second], [third]]])


def test_gru_equals_the_literal_loop(values):
    gru = make(ReleasedGRU)
    equal(gru(values), oracle.gru(values.numpy(), arrays(gru)))


def test_backward_states_stay_in_the_order_of_their_making(values):
    layer = make(ReleasedBiGRU)
    states = layer(values)
    equal(states[..., :DIM], oracle.gru(values.numpy(), arrays(layer.forward_gru)))
    backward = oracle.gru(values.numpy()[:, ::-1], arrays(layer.backward_gru))
    equal(states[..., DIM:], backward)
    last_word_only = layer.backward_gru(values[:, -1:])
    equal(states[:, 0, DIM:], last_word_only[:, 0].detach())


def test_dense(values):
    layer = make(ReleasedDense)
    expected = values @ layer.linear.weight.T + layer.linear.bias
    equal(layer(values), expected.detach().numpy().clip(min=0))


def test_attention_by_hand():
    pooling = ReleasedAttention(1)
    values = {"hidden.weight": 2.0, "hidden.bias": -1.0, "score.weight": 1.0, "score.bias": -3.0}
    state = {key: torch.full(pooling.state_dict()[key].shape, v) for key, v in values.items()}
    pooling.load_state_dict(state)
    pooling.double()
    # v = relu(2 h - 1) = 0, 1, 5 and the scores relu(v - 3) = 0, 0, 2
    vector, weights = pooling(torch.tensor([[[0.0], [1.0], [3.0]]], dtype=torch.double))
    total = 2 + np.e**2
    equal(weights, [[1 / total, 1 / total, np.e**2 / total]])
    equal(vector, [[(1 + 3 * np.e**2) / total]])


@pytest.mark.parametrize(
    ("layer", "words", "sentences"),
    [(ReleasedDense, 4_100, 10_100), (ReleasedGRU, 42_300, 60_300), (ReleasedBiGRU, 84_600, 0)],
)
def test_paper_sizes(layer, words, sentences):
    def count(module):
        return sum(p.numel() for p in module.parameters())

    made = layer(40)
    assert (made.hidden_dim, made.output_dim) == (100, 200 if layer is ReleasedBiGRU else 100)
    assert count(made) == words
    assert count(layer(made.output_dim)) == (sentences or 265_200 - 84_600)
    assert count(ReleasedAttention(100)) == 10_201
    assert count(ReleasedAttention(200)) == 40_401


@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_are_those_of_finite_differences(values, layer):
    made = make(layer)
    inputs = (0.3 * values[:2, :3]).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: made(x), (inputs, *made.parameters()))


def test_gradients_of_attention():
    torch.manual_seed(1)
    pooling = ReleasedAttention(3).double()
    states = torch.randn(2, 4, 3, dtype=torch.double, requires_grad=True)
    nn.init.constant_(pooling.score.bias, 1.0)
    assert torch.autograd.gradcheck(lambda x, *_: pooling(x), (states, *pooling.parameters()))


def test_start_of_the_recurrent_kernels():
    torch.manual_seed(0)
    gru = ReleasedGRU(40)
    product = gru.recurrent_kernel @ gru.recurrent_kernel.T
    torch.testing.assert_close(product, torch.eye(100), rtol=0, atol=1e-5)
    limit = (6 / (40 + 300)) ** 0.5
    assert 0.99 * limit < gru.kernel.abs().max() <= limit
    assert not gru.bias.any()


@pytest.mark.parametrize("layer", LAYERS)
def test_refuses_a_size_of_nothing(layer):
    with pytest.raises(InputError, match="dim is 0"):
        layer(INPUT, 0)


def test_gru_with_relu_by_hand():
    layer = ReleasedGRU(1, 1, activation="relu").double()
    with torch.no_grad():
        layer.kernel.copy_(torch.tensor([[0.0, 0.0, 2.0]]))  # z = r = 0.5 throughout
        layer.recurrent_kernel.copy_(torch.tensor([[0.0, 0.0, 4.0]]))
        layer.bias.zero_()
    states = layer(torch.tensor([[[3.0], [-1.0], [-9.0]]]).double())
    # 0.5 * 6; then c = -2 + 4 * 0.5 * 3 = 4; then c = max(-18 + 4 * 0.5 * 3.5, 0) = 0
    assert states.flatten().tolist() == [3.0, 3.5, 1.75]
