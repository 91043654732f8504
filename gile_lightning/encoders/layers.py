"""Layers that turn word vectors into hidden states."""

from torch import Tensor, nn

from gile_lightning.errors import positive


class Dense(nn.Module):
    """A fully connected layer, word by word: h = ReLU(x W + b) (paper, Eq. 1, "Dense").

    Args:
        input_dim: size of the word vectors.
        dim: size of the states (paper: 100).
    """

    def __init__(self, input_dim: int, dim: int = 100) -> None:
        positive(dim=dim)
        super().__init__()
        self.output_dim = dim
        self.linear = nn.Linear(input_dim, dim)

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        """Map flat vectors [N, input_dim] of segments of the given lengths [S] to [N, dim]."""
        states: Tensor = self.linear(values).relu()
        return states
