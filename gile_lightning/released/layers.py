"""Layers as the authors' released code runs them: over padded sequences, without a mask.

A layer maps padded vectors [B, T, input_dim] to [B, T, output_dim].
"""

from typing import Literal

import torch
from torch import Tensor, nn

from gile_lightning.common.errors import positive
from gile_lightning.common.factories import Part


class ReleasedDense(Part, nn.Module):
    """A fully connected layer at every position: h = ReLU(x W + b) (paper, Eq. 1, "Dense").

    Args:
        input_dim: size of the input vectors.
        dim: size of the states (paper: 100).

    Attributes:
        hidden_dim: size of the states in one direction.
        output_dim: size of what comes out.
    """

    def __init__(self, input_dim: int, dim: int = 100) -> None:
        positive(dim=dim)
        super().__init__()
        self.hidden_dim = self.output_dim = dim
        self.linear = nn.Linear(input_dim, dim)

    def forward(self, values: Tensor) -> Tensor:
        """Map vectors [B, T, input_dim] to states [B, T, dim]."""
        states: Tensor = self.linear(values).relu()
        return states


class ReleasedGRU(Part, nn.Module):
    """A gated recurrent layer as Keras 1 and 2.0 have it, over all T positions.

    z = σ(x W_z + h U_z + b_z), r = σ(x W_r + h U_r + b_r), c = tanh(x W_c + (r ⊙ h) U_c + b_c) and
    the next state is z ⊙ h + (1 - z) ⊙ c, where σ(v) = min(max(0.2 v + 0.5, 0), 1); the first state
    is zeros. PyTorch's GRU differs in three ways: it resets after the recurrent product, σ is the
    logistic function, and there are two biases per gate.

    The gates z, r, c lie side by side in ``kernel`` [input_dim, 3 dim], ``recurrent_kernel``
    [dim, 3 dim] and ``bias`` [3 dim]. The kernels start as in Keras: Glorot uniform and orthogonal.

    Args:
        input_dim: size of the input vectors.
        dim: size of the states (paper: 100).
        activation: of the candidates c: tanh, or ReLU in some of the multilingual baselines.

    Attributes:
        hidden_dim: size of the states in one direction.
        output_dim: size of what comes out.
    """

    def __init__(
        self, input_dim: int, dim: int = 100, activation: Literal["tanh", "relu"] = "tanh"
    ) -> None:
        positive(dim=dim)
        super().__init__()
        self.hidden_dim = self.output_dim = dim
        self.activation = torch.relu if activation == "relu" else torch.tanh
        self.kernel = nn.Parameter(torch.empty(input_dim, 3 * dim))
        self.recurrent_kernel = nn.Parameter(torch.empty(dim, 3 * dim))
        self.bias = nn.Parameter(torch.zeros(3 * dim))
        nn.init.xavier_uniform_(self.kernel)
        nn.init.orthogonal_(self.recurrent_kernel)

    def forward(self, values: Tensor) -> Tensor:
        """Map vectors [B, T, input_dim] to states [B, T, dim]."""
        split = 2 * self.hidden_dim
        steps = values.transpose(0, 1)
        # all that does not depend on the states at once, σ's 0.2 v + 0.5 included
        gate_steps = 0.2 * (steps @ self.kernel[:, :split] + self.bias[:split]) + 0.5
        candidate_steps = steps @ self.kernel[:, split:] + self.bias[split:]
        gate_kernel = 0.2 * self.recurrent_kernel[:, :split]
        candidate_kernel = self.recurrent_kernel[:, split:].contiguous()
        state = candidate_steps.new_zeros(len(values), self.hidden_dim)
        states = []
        for gates, candidates in zip(gate_steps.unbind(), candidate_steps.unbind(), strict=True):
            both = torch.addmm(gates, state, gate_kernel).clamp(0, 1)
            update, reset = both.chunk(2, dim=1)
            candidate = self.activation(torch.addmm(candidates, reset * state, candidate_kernel))
            state = torch.lerp(candidate, state, update)
            states.append(state)
        return torch.stack(states, dim=1)


class ReleasedBiGRU(Part, nn.Module):
    """A `ReleasedGRU` from the first position on and one from the last one on, side by side.

    The backward states stay in the order in which they were made: beside the forward state after
    p positions stands the backward state after the p last ones.

    Args:
        input_dim: size of the input vectors.
        dim: size of the states in one direction (paper: 100); twice as much comes out.
        activation: as in `ReleasedGRU`.

    Attributes:
        hidden_dim: size of the states in one direction.
        output_dim: size of what comes out.
    """

    def __init__(
        self, input_dim: int, dim: int = 100, activation: Literal["tanh", "relu"] = "tanh"
    ) -> None:
        super().__init__()
        self.hidden_dim, self.output_dim = dim, 2 * dim
        self.forward_gru = ReleasedGRU(input_dim, dim, activation)
        self.backward_gru = ReleasedGRU(input_dim, dim, activation)

    def forward(self, values: Tensor) -> Tensor:
        """Map vectors [B, T, input_dim] to states [B, T, 2 dim]."""
        return torch.cat([self.forward_gru(values), self.backward_gru(values.flip(1))], dim=-1)


class ReleasedAttention(nn.Module):
    """The weighted mean over all positions, padding included (paper, Eq. 2, as released).

    a_t = softmax_t(ReLU(v_t u + c)) with v_t = ReLU(h_t W + b); the result is the sum of a_t h_t.
    Unlike in the paper's equation the score passes a ReLU, so its bias c does not cancel.

    Args:
        dim: size of the states; also that of v.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(dim, dim)
        self.score = nn.Linear(dim, 1)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Pool states [..., T, dim]: vectors [..., dim] and the weights [..., T]."""
        scores: Tensor = self.score(self.hidden(states).relu()).relu()
        weights = scores.squeeze(-1).softmax(-1)
        return (weights.unsqueeze(-2) @ states).squeeze(-2), weights
