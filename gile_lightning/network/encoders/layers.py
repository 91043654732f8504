"""Layers that turn word vectors, or sentence vectors, into hidden states.

A layer maps flat vectors [N, input_dim] of segments of the given lengths [S] to [N, output_dim].
A `pointwise` layer maps every vector by itself.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from gile_lightning.common.errors import positive
from gile_lightning.common.factories import Part
from gile_lightning.data.loading.flat import segment_ids, segment_starts, send
from gile_lightning.network.encoders.recurrence import Recurrence


class Dense(Part, nn.Module):
    """A fully connected layer, word by word: h = ReLU(x W + b) (paper, Eq. 1, "Dense").

    Args:
        input_dim: size of the word vectors.
        dim: size of the states (paper: 100).
    """

    pointwise = True

    def __init__(self, input_dim: int, dim: int = 100) -> None:
        positive(dim=dim)
        super().__init__()
        self.hidden_dim = self.output_dim = dim
        self.linear = nn.Linear(input_dim, dim)

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        """Map flat vectors [N, input_dim] of segments of the given lengths [S] to [N, dim]."""
        states: Tensor = self.linear(values).relu_()
        return states


class GRU(Part, nn.Module):
    """A gated recurrent layer over every segment by itself (paper, Eq. 1, "GRU").

    r = σ(x W_r + h U_r + b_r), z = σ(x W_z + h U_z + b_z), c = tanh(x W_c + b_c + r (h U_c)) and
    the next state is z h + (1 - z) c. The state before a segment is zeros. Each gate has one bias,
    as in the paper's parameter counts. The weights start as in the authors' code: W Glorot uniform,
    U orthogonal, biases zero.

    Args:
        input_dim: size of the input vectors.
        dim: size of the states (paper: 100).

    Attributes:
        hidden_dim: size of the states in one direction.
        output_dim: size of the states of all directions together.
    """

    bidirectional = False

    def __init__(self, input_dim: int, dim: int = 100) -> None:
        positive(dim=dim)
        super().__init__()
        self.hidden_dim = dim
        self.output_dim = dim * (1 + self.bidirectional)
        self.gru = nn.GRU(input_dim, dim, bidirectional=self.bidirectional)
        for name, parameter in list(self.gru.named_parameters()):
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(parameter)
            elif name.startswith("weight_hh"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)
            if name.startswith("bias_hh"):  # PyTorch's second bias: zeros for good
                delattr(self.gru, name)
                self.gru.register_buffer(name, None, persistent=False)
                setattr(self.gru, name, parameter.detach())  # tells the module's list of weights

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        """Map flat vectors [N, input_dim] of segments of the given lengths [S] to [N, output_dim].

        The backward states of `BiGRU` are in reading order: the backward state of an element has
        seen the elements from the last one of its segment down to it.
        """
        places, sizes = packed_places(lengths)
        if not self.runs_here(values):
            return self._library_states(values, places, sizes)
        by_direction = [places]
        if self.bidirectional:  # backwards, an element has the place of the opposite one
            ends = 2 * segment_starts(lengths) + lengths - 1
            by_direction.append(places[ends[segment_ids(lengths)] - torch.arange(len(places))])
        weights = [torch.stack(kind) for kind in zip(*self.gru.all_weights, strict=True)][:3]
        values = values.to(weights[0].dtype)  # autocast may have made them bfloat16
        states: Tensor = Recurrence.apply(  # type: ignore[no-untyped-call]
            values,
            *weights,
            torch.stack(by_direction, 1),
            sizes.tolist(),
            torch.is_grad_enabled(),
        )
        return states

    @staticmethod
    def runs_here(values: Tensor) -> bool:
        """Whether `Recurrence` is faster for these vectors than PyTorch's own layer."""
        return values.device.type == "cpu"

    def _library_states(self, values: Tensor, places: Tensor, sizes: Tensor) -> Tensor:
        if not len(values):  # PyTorch refuses to run over nothing; one step keeps the gradients
            one = F.pad(values, (0, 0, 0, 1)), places.new_zeros(1), sizes.new_ones(1)
            return self._library_states(*one)[:0]
        order = torch.empty_like(places)
        order[places] = torch.arange(len(places), device=places.device)
        order = send(order, values.device)
        packed = PackedSequence(values.index_select(0, order), sizes.cpu())
        states: PackedSequence = self.gru(packed)[0]
        return states.data.index_select(0, send(places, values.device))


class BiGRU(GRU):
    """Two `GRU` side by side, one forwards and one backwards (paper, Eq. 1, "biGRU").

    Args:
        input_dim: size of the input vectors.
        dim: size of the states in one direction (paper: 100); the output has twice that size.
    """

    bidirectional = True


def packed_places(lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the packed places of the elements of flat segments of the given lengths [S].

    The packed order has the first elements of all segments, longest segment first, then all second
    elements, and so on.

    Returns:
        The places [N], and for each step t how many segments have a t-th element.
    """
    longer = lengths.bincount().flip(0).cumsum(0).flip(0)  # how many segments of at least a length
    step_sizes = longer[1:]
    ranks = lengths.argsort(descending=True, stable=True).argsort()
    ids = segment_ids(lengths)
    steps = torch.arange(len(ids), device=ids.device) - segment_starts(lengths)[ids]
    return segment_starts(step_sizes)[steps] + ranks[ids], step_sizes
