import numpy as np
import pytest
import torch
from torch import nn

from gile_lightning.common.errors import InputError
from gile_lightning.network.outputs import Bilinear, JointBilinear

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


def test_joint_space_of_the_paper():
    """100 dimensions for BioASQ."""
    assert JointBilinear(D_H, D, K).label_projection.out_features == 100


def test_joint_dim_must_be_positive():
    with pytest.raises(InputError, match="joint_dim is 0"):
        JointBilinear(100, 40, 3, joint_dim=0)
