"""Sparse gradients: Adam for embeddings of which a batch touches a few rows, and clipping."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm
from torch.optim.adam import adam

_ROWS = 2_048  # updated at a time on a CPU: they stay in its cache


class LazyAdam(torch.optim.Adam):
    """Adam that, where a gradient is sparse, changes only the rows that the gradient has.

    Dense gradients, those of all parameters but an embedding with ``sparse``, are taken as by
    `torch.optim.Adam`, fused. For a row in a sparse gradient the step is Adam's too,

        m = β1 m + (1 - β1) g,  v = β2 v + (1 - β2) g²,
        w = w - lr m / (1 - β1^t) / (√(v / (1 - β2^t)) + ε)     with t the number of all steps.

    The difference from Adam is in the other rows: Adam lets their m and v decay and moves them on
    by what is left of m; here they stay as they are, so that a rare word moves in the steps of its
    batches only. Both are the same for a row that comes in every batch, and in the first step.
    (TensorFlow's LazyAdam; `torch.optim.SparseAdam`, which takes sparse gradients alone, has the
    same rule with an ε that is not scaled.)

    Args:
        params: parameters, or groups of them.
        lr: the learning rate.
        betas: β1 and β2.
        eps: ε.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params, lr, betas, eps, fused=True)
        self._step_supports_amp_scaling = False  # the scaler knows sparse gradients

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
            # not as a step of its own, with hooks
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
    """Return distinct row ids [U] and the gradients of these rows [U, d]."""
    ids = gradient._indices()[0]
    if not gradient.is_coalesced() and not bool((ids.diff() > 0).all()):  # else it costs a sort
        gradient = gradient.coalesce()
    return gradient._indices()[0], gradient._values()


def clip_gradients(
    parameters: Iterable[Tensor], limit: float, algorithm: Literal["norm", "value"] = "norm"
) -> None:
    """Clip gradients, dense and sparse, as PyTorch's functions do for dense ones alone.

    Args:
        parameters: whose gradients are changed in place.
        limit: the largest norm of all gradients together, or the largest absolute value.
        algorithm: which of these.
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
    """Return why an optimizer cannot take dense and sparse gradients, or None if it can."""
    parameters = [nn.Parameter(torch.zeros(1, 1)) for _ in range(2)]
    parameters[0].grad = torch.zeros(1, 1)
    parameters[1].grad = torch.zeros(1, 1).to_sparse(1)
    try:
        optimizer(parameters).step()
    except (RuntimeError, TypeError) as error:
        return str(error)
    return None
