"""Sparse gradients of large embeddings: Adam that changes few rows, and clipping."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm
from torch.optim.adam import adam

_ROWS = 2_048  # updated at a time on a CPU: they stay in its cache


class LazyAdam(torch.optim.Adam):
    """Adam that changes only the rows that a sparse gradient has.

    Dense gradients, those of all parameters but an embedding with ``sparse``, have the step of
    `torch.optim.Adam`, fused. So has a row in a sparse gradient:

        m = β1 m + (1 - β1) g,  v = β2 v + (1 - β2) g²,
        w = w - lr m / (1 - β1^t) / (√(v / (1 - β2^t)) + ε)     with t the number of all steps.

    The other rows differ: Adam lets their m and v decay, and goes on moving them by m. Here they
    stay as they are, so that a rare word moves in the steps of its batches only. Both agree in the
    first step, and on a row that is in every batch. TensorFlow has the same LazyAdam.
    `torch.optim.SparseAdam` accepts sparse gradients alone and does not scale ε.

    Args:
        params: parameters, or groups of them.
        lr: the learning rate.
        betas: β1 and β2.
        eps: ε.
        fused: whether dense parameters are changed by one kernel; rows always are.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        fused: bool = True,
    ) -> None:
        super().__init__(params, lr, betas, eps, fused=fused)
        self._step_supports_amp_scaling = False  # PyTorch's scaler handles sparse gradients

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Change the parameters by their gradients."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        sparse = []
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is not None and gradient.is_sparse:
                    self._change_rows(parameter, gradient, group)
                    sparse.append((parameter, gradient))
                    parameter.grad = None  # Adam refuses it
        try:
            # unwrapped, so that the hooks of a step run once
            inspect.unwrap(torch.optim.Adam.step)(self)
        finally:
            for parameter, gradient in sparse:
                parameter.grad = gradient
        return loss

    def _change_rows(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:  # named as Adam's
            state["step"] = torch.zeros((), device=parameter.device)
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        tables = parameter, state["exp_avg"], state["exp_avg_sq"]
        ids, values = _rows(gradient)
        size = min(_ROWS, len(ids)) if parameter.device.type == "cpu" else len(ids)
        buffers = [table.new_empty(size, *table.shape[1:]) for table in tables]
        pieces = (torch.split(part, size or 1) for part in (ids, values))
        for some, of_some in zip(*pieces, strict=True):
            parts = [
                torch.index_select(table, 0, some, out=buffer[: len(some)])
                for table, buffer in zip(tables, buffers, strict=True)
            ]
            rows, exp_avg, exp_avg_sq = ([part] for part in parts)
            adam(
                rows,
                [of_some],
                exp_avg,
                exp_avg_sq,
                [],
                [state["step"].clone()],  # which adam adds one to
                fused=True,
                amsgrad=False,
                beta1=group["betas"][0],
                beta2=group["betas"][1],
                lr=group["lr"],
                weight_decay=0.0,
                eps=group["eps"],
                maximize=False,
            )
            for table, part in zip(tables, parts, strict=True):
                table.index_copy_(0, some, part)
        state["step"] += 1


def _rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return distinct row ids [U] and their gradients [U, d]."""
    ids = gradient._indices()[0]
    # the host waits for a device in both; coalescing takes longer, as it sorts
    if not gradient.is_coalesced() and not bool((ids.diff() > 0).all()):
        gradient = gradient.coalesce()
    return gradient._indices()[0], gradient._values()


def clip_gradients(
    parameters: Iterable[Tensor], limit: float, algorithm: Literal["norm", "value"] = "norm"
) -> None:
    """Clip dense and sparse gradients; PyTorch's own functions clip dense gradients alone.

    Args:
        parameters: their gradients change in place.
        limit: the largest norm of all gradients together, or the largest absolute value.
        algorithm: whether the limit is one of the norm or of values.
    """
    values = []
    for parameter in parameters:
        if parameter.grad is not None:
            if parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()
                values.append(parameter.grad.values())
            else:
                values.append(parameter.grad)
    if algorithm == "value":
        for value in values:
            value.clamp_(-limit, limit)
        return
    factor = (limit / (get_total_norm(values) + 1e-6)).clamp(max=1)
    for value in values:
        value.mul_(factor)


def refusal(optimizer: Callable[[list[nn.Parameter]], torch.optim.Optimizer]) -> str | None:
    """Return why an optimizer refuses dense and sparse gradients together; None if it does not."""
    parameters = [nn.Parameter(torch.zeros(1, 1)) for _ in range(2)]
    parameters[0].grad = torch.zeros(1, 1)
    parameters[1].grad = torch.zeros(1, 1).to_sparse(1)
    try:
        optimizer(parameters).step()
    except (RuntimeError, TypeError) as error:
        return str(error)
    return None
