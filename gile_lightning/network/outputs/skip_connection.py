"""The further layers of a projection to the joint space."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

_SCALE = 0.1  # that of LayerScale for networks of up to 18 layers (Touvron et al., 2021)


class SkipConnection(nn.Module):
    """A layer that adds its input to its output: x + s ⊙ σ(x W + b).

    Pappas and Henderson (2019, ICML) project with such layers. The learned scale s [dim] starts at
    0.1 (LayerScale): an untrained layer is near the identity, and all parameters have a gradient.

    Args:
        dim: size of x.
        activation: makes σ.
    """

    def __init__(self, dim: int, activation: Callable[[], nn.Module] = nn.ReLU) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.scale = nn.Parameter(torch.full((dim,), _SCALE))
        self.activation = activation()

    def forward(self, vectors: Tensor) -> Tensor:
        """Map vectors [..., dim] to [..., dim]."""
        added: Tensor = self.scale * self.activation(self.linear(vectors))
        return vectors + added
