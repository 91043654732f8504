"""The recurrence of gated recurrent units over packed segments, made for the CPU.

PyTorch's own takes some twenty operations per step and direction and keeps the result of each.
Here all directions advance in the same few operations, in place, and the gradients of the weights
are one product over all steps.
"""

from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor
from torch.amp import custom_bwd, custom_fwd
from torch.autograd.function import once_differentiable

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


class Recurrence(torch.autograd.Function):
    """States of gated recurrent units in D directions over packed segments.

    With r = σ(x W_r + h U_r + b_r), z = σ(x W_z + h U_z + b_z), n = h U_c and
    c = tanh(x W_c + b_c + r n), the state after h is z h + (1 - z) c. The buffers [D, N, 4 dim]
    hold n, r, z and c side by side: a state adds to the first three, an input to the last three.
    """

    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(
        ctx: Any,
        values: Tensor,
        weights_ih: Tensor,
        weights_hh: Tensor,
        biases: Tensor,
        places: Tensor,
        step_sizes: list[int],
    ) -> Tensor:
        """Return the states [N, D dim] after vectors [N, d], both in reading order.

        Args:
            ctx: keeps what the backward pass needs.
            values: the vectors [N, d].
            weights_ih: W as PyTorch stores it, [D, 3 dim, d]: rows for r, then z, then c.
            weights_hh: U, [D, 3 dim, dim].
            biases: b, [D, 3 dim].
            places: where each vector is in each direction's packed steps, [N, D].
            step_sizes: how many segments have a first element, a second one, ...
        """
        directions, dim = weights_hh.shape[0], weights_hh.shape[2]
        rows = (places + len(places) * torch.arange(directions)).flatten()  # of [D, N]
        order = torch.empty_like(rows)  # of [N, D]
        order[rows] = torch.arange(len(rows))
        inputs = values.index_select(0, order // directions).unflatten(0, (directions, -1))
        units = weights_hh.roll(dim, 1).contiguous()  # rows for n, then r, then z

        buffer = values.new_empty(directions, len(values), 4 * dim)
        n, r, z, c = buffer.split(dim, -1)
        n.zero_()
        from_states, gates = buffer[..., : 3 * dim], buffer[..., dim : 3 * dim]
        torch.baddbmm(biases.unsqueeze(1), inputs, weights_ih.mT, out=buffer[..., dim:])
        states = values.new_empty(directions, len(values), dim)
        state = values.new_zeros(directions, max(step_sizes, default=0), dim)
        for step in _steps(step_sizes):
            state = state[:, : step.stop - step.start]
            from_states[:, step].baddbmm_(state, units.mT)
            gates[:, step].sigmoid_()
            c[:, step].addcmul_(r[:, step], n[:, step]).tanh_()
            state = torch.lerp(c[:, step], state, z[:, step], out=states[:, step])
        ctx.step_sizes = step_sizes
        ctx.save_for_backward(inputs, weights_ih, units, rows, order, buffer, states)
        return states.flatten(0, 1).index_select(0, rows).view(len(values), directions * dim)

    @staticmethod
    @once_differentiable
    @custom_bwd(device_type="cpu")
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the vectors, both stacks of weights and the biases."""
        inputs, weights_ih, units, rows, order, buffer, states = ctx.saved_tensors
        directions, _, dim = states.shape
        of_states = gradient.reshape(-1, dim).index_select(0, order).view_as(states)
        n, r, z, c = buffer.split(dim, -1)
        of_buffer = torch.empty_like(buffer)  # before σ and tanh
        of_n, of_r, of_z, of_c = of_buffer.split(dim, -1)
        from_states, from_inputs = of_buffer[..., : 3 * dim], of_buffer[..., dim:]
        before = torch.zeros_like(states)
        steps = _steps(ctx.step_sizes)
        for last, step in reversed(list(zip([None, *steps], steps, strict=False))):
            if last:
                earlier = slice(last.start, last.start + step.stop - step.start)
                before[:, step] = states[:, earlier]
            of_state = of_states[:, step]
            torch.sub(before[:, step], c[:, step], out=of_z[:, step]).mul_(of_state)
            _sigmoid_backward(of_z[:, step], z[:, step], grad_input=of_z[:, step])
            torch.addcmul(of_state, of_state, z[:, step], value=-1, out=of_c[:, step])
            _tanh_backward(of_c[:, step], c[:, step], grad_input=of_c[:, step])
            torch.mul(of_c[:, step], n[:, step], out=of_r[:, step])
            _sigmoid_backward(of_r[:, step], r[:, step], grad_input=of_r[:, step])
            torch.mul(of_c[:, step], r[:, step], out=of_n[:, step])
            if last:
                of_earlier = of_states[:, earlier].addcmul_(of_state, z[:, step])
                of_earlier.baddbmm_(from_states[:, step], units)
        of_values = None
        if ctx.needs_input_grad[0]:
            of_inputs = torch.bmm(from_inputs, weights_ih).flatten(0, 1).index_select(0, rows)
            of_values = of_inputs.unflatten(0, (-1, directions)).sum(1)
        of_weights_ih = torch.bmm(from_inputs.mT, inputs)
        of_weights_hh = torch.bmm(from_states.mT, before).roll(-dim, 1)
        return of_values, of_weights_ih, of_weights_hh, from_inputs.sum(1), None, None


def _steps(step_sizes: list[int]) -> list[slice]:
    return [slice(*ends) for ends in pairwise(accumulate(step_sizes, initial=0))]
