"""The recurrence of gated recurrent units over packed segments, made for the CPU.

Autograd over PyTorch's own takes dozens of operations per step and direction and keeps the result
of each. Here all directions advance in the same few operations, in place, step by step, so that
what a step touches stays in the processor's cache.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


class Recurrence(torch.autograd.Function):
    """States of gated recurrent units in D directions over packed segments.

    With r = σ(x W_r + h U_r + b_r), z = σ(x W_z + h U_z + b_z), n = h U_c and
    c = tanh(x W_c + b_c + r n), the state after h is z h + (1 - z) c. Gates are n, r, z and c side
    by side: the state adds to the first three, the input to the last three.

    Vectors and weights are of one type. The result can be differentiated once.
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
    ) -> Tensor:
        """Return the states [N, D dim] after vectors [N, d], both in reading order.

        Args:
            ctx: keeps what the backward pass needs.
            values: the vectors [N, d].
            weights_ih: W as PyTorch stores it, [D, 3 dim, d]: rows for r, then z, then c.
            weights_hh: U, [D, 3 dim, dim].
            biases: b, [D, 3 dim].
            places: where each vector is in the packed steps of each direction, [N, D].
            sizes: how many segments have a first element, a second one, ...
        """
        directions, dim = weights_hh.shape[0], weights_hh.shape[2]
        rows = (places + len(places) * torch.arange(directions)).flatten()  # in packed [D, N]
        order = torch.empty_like(rows)  # in [N, D], packed row after packed row
        order[rows] = torch.arange(len(rows))
        ones = F.pad(values, (0, 1), value=1)  # a last column of ones, for the biases
        inputs = ones.index_select(0, order // directions).view(directions, *ones.shape)
        weights = torch.cat([weights_ih, biases.unsqueeze(-1)], -1)
        units = weights_hh.roll(dim, 1)  # rows for n, then r, then z
        gates = values.new_empty(directions, len(values), 4 * dim)
        states = values.new_empty(directions, len(values), dim)
        h = values.new_zeros(directions, max(sizes, default=0), dim)
        steps = zip(*(_steps(sizes, kind) for kind in (inputs, gates, states)), strict=True)
        for x, gate, after in steps:
            h = h[:, : x.shape[1]]
            n, r, z, c = gate.chunk(4, -1)
            torch.bmm(x, weights.mT, out=gate[..., dim:])
            n.zero_()
            gate[..., : 3 * dim].baddbmm_(h, units.mT)
            gate[..., dim : 3 * dim].sigmoid_()
            c.addcmul_(r, n).tanh_()
            h = torch.lerp(c, h, z, out=after)
        ctx.sizes = sizes
        ctx.save_for_backward(inputs, weights, units, gates, states, rows, order)
        return states.flatten(0, 1).index_select(0, rows).view(len(values), directions * dim)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the vectors, both stacks of weights and the biases."""
        inputs, weights, units, gates, states, rows, order = ctx.saved_tensors
        sizes, (directions, _, dim) = ctx.sizes, states.shape
        of_packed = gradient.reshape(-1, dim).index_select(0, order).view_as(states)
        of_inputs = torch.empty_like(inputs) if ctx.needs_input_grad[0] else None
        of_weights, of_units = torch.zeros_like(weights), torch.zeros_like(units)
        first = states.new_zeros(directions, max(sizes, default=0), dim)
        before = [first, *_steps(sizes, states)]
        of_states = [torch.zeros_like(first), *_steps(sizes, of_packed)]
        xs, of_xs, steps = (_steps(sizes, kind) for kind in (inputs, of_inputs, gates))
        scratch = states.new_empty(directions, first.shape[1], 4 * dim)
        for t in reversed(range(len(sizes))):
            of_gate = scratch[:, : sizes[t]]  # before σ and tanh
            (n, r, z, c), h = steps[t].chunk(4, -1), before[t][:, : sizes[t]]
            (of_n, of_r, of_z, of_c), of_after = of_gate.chunk(4, -1), of_states[t + 1]
            torch.sub(h, c, out=of_z).mul_(of_after)
            _sigmoid_backward(of_z, z, grad_input=of_z)
            torch.addcmul(of_after, of_after, z, value=-1, out=of_c)
            _tanh_backward(of_c, c, grad_input=of_c)
            torch.mul(of_c, n, out=of_r)
            _sigmoid_backward(of_r, r, grad_input=of_r)
            torch.mul(of_c, r, out=of_n)
            through_state, through_input = of_gate[..., : 3 * dim], of_gate[..., dim:]
            of_h = of_states[t][:, : sizes[t]].addcmul_(of_after, z)
            of_h.baddbmm_(through_state, units)
            of_units.baddbmm_(through_state.mT, h)
            of_weights.baddbmm_(through_input.mT, xs[t])
            if of_inputs is not None:
                torch.bmm(through_input, weights, out=of_xs[t])
        of_values = None
        if of_inputs is not None:
            of_ones = of_inputs.flatten(0, 1).index_select(0, rows)
            of_values = of_ones.view(-1, directions, of_ones.shape[1]).sum(1)[:, :-1]
        of_weights_ih, of_biases = of_weights[..., :-1], of_weights[..., -1]
        return of_values, of_weights_ih, of_units.roll(-dim, 1), of_biases, None, None


def _steps(sizes: list[int], packed: Tensor | None) -> tuple[Tensor, ...]:
    return () if packed is None else torch.split(packed, sizes, 1)
