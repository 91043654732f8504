"""Recurrent layers beside NumPy, one segment and one step at a time."""

import copy
import math

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.network.encoders import GRU, BiGRU, Dense
from gile_lightning.network.encoders.layers import packed_places

INPUT_DIM, DIM = 3, 2
LENGTHS = {
    "several": [3, 1, 5, 2],
    "equal": [2, 2, 2],
    "empty ones": [0, 4, 0, 0, 1, 6, 0],
    "one": [7],
    "only empty": [0, 0],
    "none": [],
}
every_length = pytest.mark.parametrize("sizes", LENGTHS.values(), ids=LENGTHS.keys())
recurrent = pytest.mark.parametrize("kind", [GRU, BiGRU])


def random(*shape):
    return torch.randn(shape, dtype=torch.double, generator=torch.Generator().manual_seed(5))


def make(kind, dim=DIM):
    torch.manual_seed(1)
    layer = kind(INPUT_DIM, dim).double()
    with torch.no_grad():
        for parameter in layer.parameters():  # the biases too are not zero
            parameter.copy_(torch.randn_like(parameter))
    return layer


@recurrent
def test_starts_as_in_the_authors_code(kind):
    torch.manual_seed(0)
    layer = kind(40, 100)
    limit = math.sqrt(6 / (40 + 300))
    for name, value in layer.gru.named_parameters():
        if name.startswith("weight_ih"):
            assert value.abs().max() <= limit
            assert value.std().item() == pytest.approx(limit / math.sqrt(3), rel=0.02)
        elif name.startswith("weight_hh"):
            torch.testing.assert_close(value.T @ value, torch.eye(100), rtol=0, atol=1e-5)
        else:
            assert value.eq(0).all()


@recurrent
def test_second_bias_stays_zero(kind):
    layer = make(kind)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    values, lengths = random(5, INPUT_DIM), torch.tensor([3, 2])
    before = layer(values, lengths)
    before.sum().backward()
    optimizer.step()
    assert not torch.equal(layer(values, lengths), before)
    assert not any("bias_hh" in name for name in layer.state_dict())
    assert [name for name, _ in layer.named_buffers() if "bias_hh" in name]
    assert all(buffer.eq(0).all() for buffer in layer.buffers())


@recurrent
def test_state_and_copies(kind):
    layer, values, lengths = make(kind), random(5, INPUT_DIM), torch.tensor([3, 2])
    expected = layer(values, lengths)
    others = [copy.deepcopy(layer), *(kind(INPUT_DIM, DIM).double() for _ in range(2))]
    for other, assign in zip(others[1:], (False, True), strict=True):
        other.load_state_dict(copy.deepcopy(layer.state_dict()), assign=assign)
    with torch.no_grad():
        layer.gru.weight_hh_l0.add_(1)
    assert not torch.equal(layer(values, lengths), expected)
    for other in others:
        torch.testing.assert_close(other(values, lengths), expected, rtol=0, atol=0)


@every_length
def test_packed_places(sizes):
    """Element t of the segments, longest first (then as they come), for t = 0, 1, ..."""
    order = sorted(range(len(sizes)), key=lambda segment: -sizes[segment])
    steps = [[(s, t) for s in order if sizes[s] > t] for t in range(max(sizes, default=0))]
    packed = [element for step in steps for element in step]
    places, step_sizes = packed_places(torch.tensor(sizes, dtype=torch.long))
    elements = [(s, t) for s, size in enumerate(sizes) for t in range(size)]
    assert step_sizes.tolist() == [len(step) for step in steps]
    assert places.tolist() == [packed.index(element) for element in elements]


@pytest.mark.parametrize("kind", [Dense, GRU, BiGRU])
def test_layer_without_units(kind):
    with pytest.raises(InputError, match="above 0: dim is 0"):
        kind(3, 0)
