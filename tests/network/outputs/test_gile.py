import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gile_lightning.common.errors import InputError
from gile_lightning.network.outputs import GILE
from gile_lightning.network.outputs.skip_connection import SkipConnection

B, K, D_H, D, D_J = 7, 11, 3, 5, 13


def parameters(output):
    return sum(p.numel() for p in output.parameters())


def project(vectors, first, further, activation):
    """σ(x W + b), then x + s σ(x W + b) for each further layer."""
    x = activation(vectors @ first.weight.T + first.bias)
    for layer in further:
        x = x + layer.scale * activation(x @ layer.linear.weight.T + layer.linear.bias)
    return x


def literal(gile, documents, labels, activation):
    """Eq. 6 to 11 with the joint vectors [B, K, d_j] written out."""
    h = project(documents, gile.document_projection, gile.document_layers, activation)
    e = project(labels, gile.label_projection, gile.label_layers, activation)
    joint = h.unsqueeze(1) * e.unsqueeze(0)
    return (joint * gile.unit.weight[0]).sum(-1) + gile.unit.bias


@pytest.fixture
def vectors():
    torch.manual_seed(4)
    documents = torch.randn(B, D_H, dtype=torch.double, requires_grad=True)
    labels = torch.randn(K, D, dtype=torch.double, requires_grad=True)
    return documents, labels


@pytest.mark.parametrize(
    ("kind", "function"), [(nn.ReLU, torch.relu), (nn.Tanh, torch.tanh), (nn.Identity, lambda x: x)]
)
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_equals_the_equation(vectors, layers, kind, function):
    gile = GILE(D_H, D, K, joint_dim=D_J, activation=kind, layers=layers).double()
    expected = literal(gile, *vectors, function)
    actual = gile(*vectors)
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)
    inputs = [*vectors, *gile.parameters()]
    assert len(inputs) == 2 + 6 + 2 * (layers - 1) * 3
    upstream = torch.randn_like(actual)
    torch.testing.assert_close(
        torch.autograd.grad(actual, inputs, upstream),
        torch.autograd.grad(expected, inputs, upstream),
        rtol=1e-10,
        atol=1e-12,
    )


def test_by_hand():
    gile = GILE(1, 1, 1, joint_dim=2)
    values = {
        "document_projection.weight": [[1.0], [-1.0]],
        "document_projection.bias": [0.5, 0.0],
        "label_projection.weight": [[2.0], [1.0]],
        "label_projection.bias": [-1.0, 0.0],
        "unit.weight": [[0.5, 7.0]],
        "unit.bias": [-1.0],
    }
    gile.load_state_dict({key: torch.tensor(value) for key, value in values.items()})
    # h' = (2.5, 0); e' = (5, 3) and (0, 0)
    logits = gile(torch.tensor([[2.0]]), torch.tensor([[3.0], [-4.0]]))
    assert logits.tolist() == [[2.5 * 5 * 0.5 - 1, -1.0]]


class Sizes(TorchDispatchMode):
    """Notes the number of elements of every tensor that an operation makes."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        leaves = tree_leaves(result)
        self.seen |= {leaf.numel() for leaf in leaves if isinstance(leaf, torch.Tensor)}
        return result


def test_joint_vectors_are_never_made(vectors):
    gile = GILE(D_H, D, K, joint_dim=D_J).double()
    with Sizes() as sizes:
        gile(*vectors).square().sum().backward()
    assert {B * D_J, K * D_J, D * D_J} <= sizes.seen  # the backward pass is watched, too
    assert max(sizes.seen) == K * D_J
    with Sizes() as sizes:
        literal(gile, *vectors, torch.relu)
    assert B * K * D_J in sizes.seen


@pytest.mark.parametrize("wrong", [{"joint_dim": 0}, {"joint_dim": -5}, {"layers": 0}])
def test_sizes_must_be_positive(wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=f"above 0: {name} is {wrong[name]}"):
        GILE(3, 4, 5, **wrong)


@pytest.mark.parametrize(
    ("labels", "joint_dim"),
    # English, German, Arabic, Persian general labels of the paper's news corpus
    [(327, 233), (367, 262), (91, 65), (71, 50), (1, 1)],
)
def test_matched_joint_dim(labels, joint_dim):
    gile = GILE(100, 40, labels, joint_dim="matched")
    assert gile.unit.in_features == joint_dim
    if labels > 1:
        assert parameters(gile) == pytest.approx(101 * labels, rel=0.02)  # a linear layer's


@pytest.mark.parametrize("layers", [2, 3, 6])
@pytest.mark.parametrize("labels", [91, 327, 2_000])
def test_matched_joint_dim_of_deep_layers(labels, layers):
    gile = GILE(100, 40, labels, joint_dim="matched", layers=layers)
    one_more = GILE(100, 40, labels, joint_dim=gile.unit.in_features + 1, layers=layers)
    # without biases, scales and the unit
    assert weights(gile) <= 100 * labels < weights(one_more) + 140


def weights(gile):
    return (
        sum(p.numel() for name, p in gile.named_parameters() if p.ndim == 2) - gile.unit.in_features
    )


def test_the_smallest_joint_space_of_deep_layers():
    gile = GILE(1, 1, 1, joint_dim="matched", layers=9)
    assert gile.unit.in_features == 1


def test_untrained_further_layers_are_near_the_identity():
    """x + 0.1 σ(x W + b)."""
    layer = SkipConnection(3, nn.Identity)
    x = torch.randn(4, 3)
    torch.testing.assert_close(layer(x), x + 0.1 * layer.linear(x))
