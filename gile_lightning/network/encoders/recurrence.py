"""The recurrence of gated recurrent units over packed segments: for the CPU only.

On other devices `GRU` runs PyTorch's own layer (cuDNN). On the CPU that takes dozens of operations
per step and direction, and autograd keeps the result of each. Here all directions advance in the
same few operations, in place, so that the data of a step stay in the processor's cache.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input

ROWS = 512
"""The largest number of elements in one product of inputs, or of gradients of weights."""


class Recurrence(torch.autograd.Function):
    """States of gated recurrent units in D directions over packed segments, on the CPU only.

    With r = σ(x W_r + h U_r + b_r), z = σ(x W_z + h U_z + b_z), n = h U_c and
    c = tanh(x W_c + b_c + r n), the state after h is z h + (1 - z) c. The gates are n, r, z and c
    side by side: the state adds to the first three, the input to the last three.

    Vectors and weights have one type. The result can be differentiated once.
    """

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        weights_ih: Tensor,
        weights_hh: Tensor,
        biases: Tensor,
        places: Tensor,
        sizes: list[int],
        keep: bool,
    ) -> Tensor:
        """Return the states [N, D dim] after each of the vectors [N, d], both in reading order.

        Args:
            ctx: keeps what the backward pass needs.
            values: the vectors [N, d].
            weights_ih: W as PyTorch stores it, [D, 3 dim, d]: rows for r, then z, then c.
            weights_hh: U, [D, 3 dim, dim].
            biases: b, [D, 3 dim].
            places: the place of each vector in the packed steps of each direction, [N, D].
            sizes: for each step t how many segments have a t-th element.
            keep: whether to keep all gates, which the backward pass needs.
        """
        directions, dim = weights_hh.shape[0], weights_hh.shape[2]
        rows = (places + len(places) * torch.arange(directions)).flatten()  # in packed [D, N]
        order = torch.empty_like(rows)  # in [N, D], packed row after packed row
        order[rows] = torch.arange(len(rows))
        ones = F.pad(values, (0, 1), value=1)  # a last column of ones, for the biases
        inputs = ones.index_select(0, order // directions).view(directions, *ones.shape)
        weights = torch.cat([weights_ih, biases.unsqueeze(-1)], -1)
        units = weights_hh.roll(dim, 1)  # rows for n, then r, then z
        states = values.new_empty(directions, len(values), dim)
        # without a backward pass, every run overwrites the gates of the one before
        kept = len(values) if keep else max([ROWS, *sizes])
        gates, before = (values.new_empty(directions, kept, k * dim) for k in (4, 1))
        h = values.new_zeros(directions, max(sizes, default=0), dim)
        start = 0
        for run, x, of_states in _runs(sizes, inputs, states):
            stop = start + x.shape[1]
            of_run = gates[:, start:stop], before[:, start:stop], of_states
            start = stop if keep else 0
            torch.bmm(x, weights.mT, out=of_run[0][..., dim:])
            of_run[0][..., :dim] = 0
            for gate, last, after in _steps(run, *of_run):
                last.copy_(h[:, : last.shape[1]])
                n, r, z, c = gate.chunk(4, -1)
                gate[..., : 3 * dim].baddbmm_(last, units.mT)
                gate[..., dim : 3 * dim].sigmoid_()
                c.addcmul_(r, n).tanh_()
                h = torch.lerp(c, last, z, out=after)
        ctx.sizes = sizes
        ctx.save_for_backward(inputs, weights, units, gates, before, rows, order)
        return states.flatten(0, 1).index_select(0, rows).view(len(values), directions * dim)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the vectors, both stacks of weights and the biases."""
        inputs, weights, units, gates, before, rows, order = ctx.saved_tensors
        directions, _, dim = before.shape
        of_states = gradient.reshape(-1, dim).index_select(0, order).view_as(before)
        of_inputs = torch.empty_like(inputs) if ctx.needs_input_grad[0] else inputs
        of_weights, of_units = torch.zeros_like(weights), torch.zeros_like(units)
        of_last = before.new_zeros(directions, 0, dim)
        runs = _runs(ctx.sizes, inputs, of_inputs, before, gates, of_states)
        for run, x, of_x, *of_run in reversed(runs):
            of_gates = before.new_empty(directions, x.shape[1], 4 * dim)  # before σ and tanh
            for last, gate, of_after, of_gate in reversed(_steps(run, *of_run, of_gates)):
                of_after[:, : of_last.shape[1]] += of_last  # of those that went on
                n, r, z, c = gate.chunk(4, -1)
                of_n, of_r, of_z, of_c = of_gate.chunk(4, -1)
                torch.sub(last, c, out=of_z).mul_(of_after)
                _sigmoid_backward(of_z, z, grad_input=of_z)
                torch.addcmul(of_after, of_after, z, value=-1, out=of_c)
                _tanh_backward(of_c, c, grad_input=of_c)
                torch.mul(of_c, n, out=of_r)
                _sigmoid_backward(of_r, r, grad_input=of_r)
                torch.mul(of_c, r, out=of_n)
                of_last = (of_after * z).baddbmm_(of_gate[..., : 3 * dim], units)
            of_units.baddbmm_(of_gates[..., : 3 * dim].mT, of_run[0])
            of_weights.baddbmm_(of_gates[..., dim:].mT, x)
            if ctx.needs_input_grad[0]:
                torch.bmm(of_gates[..., dim:], weights, out=of_x)
        of_values = None
        if ctx.needs_input_grad[0]:
            of_ones = of_inputs.flatten(0, 1).index_select(0, rows)
            of_values = of_ones.view(-1, directions, of_ones.shape[1]).sum(1)[:, :-1]
        of_weights_ih, of_biases = of_weights[..., :-1], of_weights[..., -1]
        return of_values, of_weights_ih, of_units.roll(-dim, 1), of_biases, None, None, None


def _steps(sizes: list[int], *packed: Tensor) -> list[tuple[Tensor, ...]]:
    """Cut packed buffers [D, N, ...] into steps of the given sizes."""
    return list(zip(*(torch.split(buffer, sizes, 1) for buffer in packed), strict=True))


def _runs(sizes: list[int], *packed: Tensor) -> list[tuple[Any, ...]]:
    """Cut packed buffers [D, N, ...] into runs of steps. Each begins with the sizes of its steps.

    A run is one step or has at most `ROWS` elements: enough for an efficient product, few enough
    for the processor's cache.
    """
    runs: list[list[int]] = []
    for size in sizes:
        if runs and sum(runs[-1]) + size <= ROWS:
            runs[-1].append(size)
        else:
            runs.append([size])
    buffers = _steps([sum(run) for run in runs], *packed)
    return [(run, *of_run) for run, of_run in zip(runs, buffers, strict=True)]
