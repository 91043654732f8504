"""Rows of a table, with a sparse gradient that says that its rows are distinct and sorted."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        return table.index_select(0, ids)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (ids,) = ctx.saved_tensors
        # autograd takes a gradient apart, and forgets that it is coalesced, unless another holds it
        ctx.gradient = torch.sparse_coo_tensor(
            ids.unsqueeze(0),
            gradient,
            ctx.shape,
            check_invariants=False,  # which a device would be waited for
            is_coalesced=True,
        )
        return ctx.gradient, None


def sparse_rows(table: Tensor, ids: Tensor) -> Tensor:
    """Return rows [U, d] of a table [V, d], which gets a sparse gradient.

    It is `torch.nn.functional.embedding` with ``sparse``, whose gradient would have to be searched
    for rows that come twice. For that the host would wait for a device.

    Args:
        table: the vectors.
        ids: distinct and sorted [U]; this is not checked.
    """
    rows: Tensor = _Rows.apply(table, ids)  # type: ignore[no-untyped-call]
    return rows
