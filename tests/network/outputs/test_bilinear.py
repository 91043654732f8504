import numpy as np
import pytest
import torch
from torch import nn

from gile_lightning.common.errors import InputError
from gile_lightning.network.outputs import Bilinear, GILEOnlyInput, GILEOnlyLabel, JointBilinear

D_H, D, K = 3, 4, 5


@pytest.fixture
def inputs():
    generator = torch.Generator().manual_seed(1)
    return (
        torch.randn(6, D_H, generator=generator).double(),
        torch.randn(K, D, generator=generator).double(),
    )


def made(kind, **options):
    torch.manual_seed(2)
    return kind(D_H, D, K, **options).double()


def arrays(module):
    return {name: value.detach().numpy() for name, value in module.named_parameters()}


def relu(x):
    return np.maximum(x, 0)


def test_bilinear(inputs):
    h, e = (x.numpy() for x in inputs)
    layer = made(Bilinear)
    w = arrays(layer)["weight.weight"].T  # [d, d_h]
    np.testing.assert_allclose(layer(*inputs).detach().numpy(), h @ (e @ w).T, rtol=1e-12)


@pytest.mark.parametrize(("kind", "sigma"), [(nn.ReLU, relu), (nn.Tanh, np.tanh)])
def test_joint_bilinear(inputs, kind, sigma):
    h, e = (x.numpy() for x in inputs)
    layer = made(JointBilinear, joint_dim=7, activation=kind)
    w = arrays(layer)
    joint = sigma(e @ w["label_projection.weight"].T)
    expected = (h @ w["document_projection.weight"].T) @ joint.T
    np.testing.assert_allclose(layer(*inputs).detach().numpy(), expected, rtol=1e-12, atol=1e-15)


def test_only_label(inputs):
    h, e = (x.numpy() for x in inputs)
    layer = made(GILEOnlyLabel)
    w = arrays(layer)
    joint = relu(e @ w["label_projection.weight"].T + w["label_projection.bias"])
    expected = (h * w["unit.weight"]) @ joint.T + w["unit.bias"]
    np.testing.assert_allclose(layer(*inputs).detach().numpy(), expected, rtol=1e-12)


def test_only_input(inputs):
    h, e = (x.numpy() for x in inputs)
    layer = made(GILEOnlyInput)
    w = arrays(layer)
    joint = relu(h @ w["document_projection.weight"].T + w["document_projection.bias"])
    expected = (joint * w["unit.weight"]) @ e.T + w["unit.bias"]
    np.testing.assert_allclose(layer(*inputs).detach().numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("layer", "parameters"),  # at the sizes of DW: d_h = 100, d = 40
    [
        (Bilinear(100, 40, 327), 4_000),
        (JointBilinear(100, 40, 327, joint_dim=100), 4_000 + 10_000),
        (GILEOnlyLabel(100, 40, 327), 41 * 100 + 101),
        (GILEOnlyInput(100, 40, 327), 101 * 40 + 41),
    ],
)
def test_number_of_parameters(layer, parameters):
    assert sum(p.numel() for p in layer.parameters()) == parameters


def test_joint_dim_must_be_positive():
    with pytest.raises(InputError, match="joint_dim is 0"):
        JointBilinear(100, 40, 3, joint_dim=0)


@pytest.mark.parametrize("kind", [Bilinear, JointBilinear, GILEOnlyLabel, GILEOnlyInput])
def test_languages_share_all_but_the_unit(kind):
    first, second = made(kind), made(kind)
    second.share_with(first)
    common = {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}
    own = [name for name, p in second.named_parameters() if id(p) not in common]
    assert own == [name for name, _ in second.named_parameters() if name.startswith("unit.")]
