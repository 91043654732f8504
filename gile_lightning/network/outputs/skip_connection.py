"""Further layers of a projection to the joint space."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

_SCALE = 0.1  # that of LayerScale for networks of up to 18 layers (Touvron et al., 2021)


class ResidualLayer(nn.Module):
    """x + s ⊙ σ(x W + b), which is near the identity at first.

    A projection with residual connections is that of Pappas and Henderson (2019, ICML). The trained
    scale s [dim] starts at 0.1 (LayerScale): what the layers below do is hardly changed at first,
    and every parameter has a gradient, as it would not at 0.

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
        """Return vectors [..., dim]."""
        added: Tensor = self.scale * self.activation(self.linear(vectors))
        return vectors + added
