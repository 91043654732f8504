"""The recurrence on the CPU beside PyTorch's own layer, in double precision."""

import pytest
import torch

from gile_lightning.network.encoders import GRU, BiGRU
from gile_lightning.network.encoders.recurrence import ROWS, _runs

INPUT_DIM, DIM = 5, 4
recurrent = pytest.mark.parametrize("kind", [GRU, BiGRU])
LENGTHS = {
    "several": [3, 1, 5, 2, 3],
    "empty ones": [0, 4, 0, 1, 6, 0],
    "one": [7],
    "long": [40, 1, 1],
    "many": [*range(60)],  # 1,770 elements: more than one run of steps
}
every_length = pytest.mark.parametrize("sizes", LENGTHS.values(), ids=LENGTHS.keys())


def make(kind, sizes, dtype=torch.double):
    """A layer whose weights and biases are random, vectors, and the lengths of their segments."""
    torch.manual_seed(2)
    layer = kind(INPUT_DIM, DIM).to(dtype)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    values = torch.randn(sum(sizes), INPUT_DIM, dtype=dtype, requires_grad=True)
    return layer, values, torch.tensor(sizes)


def with_gradients(states, layer, values):
    """States and the gradients, of vectors and of all parameters, of a sum with random weights."""
    upstream = torch.randn(states.shape, generator=torch.Generator().manual_seed(3))
    sources = [values, *layer.parameters()]
    return [states, *torch.autograd.grad(states, sources, upstream.to(states.dtype))]


def segment_by_segment(layer, values, lengths):
    segments = [segment for segment in values.split(lengths.tolist()) if len(segment)]
    return torch.cat([layer.gru(segment)[0] for segment in segments])


@recurrent
@every_length
def test_states_and_gradients_are_those_of_pytorch(kind, sizes):
    layer, values, lengths = make(kind, sizes)
    expected = with_gradients(segment_by_segment(layer, values, lengths), layer, values)
    here = with_gradients(layer(values, lengths), layer, values)
    torch.testing.assert_close(here, expected, rtol=1e-9, atol=1e-11)


@recurrent
@every_length
def test_other_devices_run_pytorchs_own(kind, sizes, monkeypatch):
    layer, values, lengths = make(kind, sizes)
    expected = with_gradients(layer(values, lengths), layer, values)
    monkeypatch.setattr(kind, "runs_here", staticmethod(lambda values: False))
    here = with_gradients(layer(values, lengths), layer, values)
    torch.testing.assert_close(here, expected, rtol=1e-9, atol=1e-11)


@recurrent
def test_no_element(kind, monkeypatch):
    for here in (True, False):
        monkeypatch.setattr(kind, "runs_here", staticmethod(lambda values, here=here: here))
        layer, values, lengths = make(kind, [0, 0])
        states, *gradients = with_gradients(layer(values, lengths), layer, values)
        assert states.shape == (0, layer.output_dim)
        assert [g.shape for g in gradients] == [p.shape for p in (values, *layer.parameters())]
        assert all(gradient.eq(0).all() for gradient in gradients)


@recurrent
def test_a_graph_is_walked_twice_with_the_same_result(kind):
    layer, values, lengths = make(kind, [3, 1, 5])
    total = layer(values, lengths).square().sum()
    sources = [values, *layer.parameters()]
    once = torch.autograd.grad(total, sources, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(total, sources), once, rtol=0, atol=0)


@recurrent
def test_frozen_vectors_change_no_other_gradient(kind):
    layer, values, lengths = make(kind, [3, 1, 5])
    _, _, *expected = with_gradients(layer(values, lengths), layer, values)
    states = layer(values.detach(), lengths)
    upstream = torch.randn(states.shape, generator=torch.Generator().manual_seed(3)).double()
    here = torch.autograd.grad(states, list(layer.parameters()), upstream)
    torch.testing.assert_close(list(here), expected, rtol=1e-12, atol=1e-13)


@recurrent
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("sizes", [[3, 0, 5], [2] * (ROWS + 1)], ids=["one run", "two full ones"])
def test_without_gradients(kind, mode, sizes):
    layer, values, lengths = make(kind, sizes)
    expected = layer(values, lengths)
    with mode():
        states = layer(values, lengths)
    assert not states.requires_grad
    torch.testing.assert_close(states, expected.detach(), rtol=0, atol=0)


@recurrent
def test_autocast_runs_in_single_precision(kind):
    layer, values, lengths = make(kind, [3, 0, 5], torch.float)
    short = values.bfloat16()
    expected = with_gradients(layer(short.float(), lengths), layer, values)
    with torch.autocast("cpu", torch.bfloat16):
        here = with_gradients(layer(short, lengths), layer, values)
    assert {tensor.dtype for tensor in here} == {torch.float}
    torch.testing.assert_close(here, expected, rtol=0, atol=0)


@recurrent
def test_second_derivatives_are_refused(kind):
    layer, values, lengths = make(kind, [3, 1])
    total = layer(values, lengths).square().sum()
    (gradient,) = torch.autograd.grad(total, values, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_a_run_is_one_step_or_has_no_more_rows_than_the_cache_holds():
    half = ROWS // 2
    sizes = [half, half, 1, ROWS + 5, 3, 4]
    runs = _runs(sizes, torch.zeros(1, sum(sizes), 1))
    assert [run[0] for run in runs] == [[half, half], [1], [ROWS + 5], [3, 4]]
    assert [run[1].shape[1] for run in runs] == [2 * half, 1, ROWS + 5, 7]
