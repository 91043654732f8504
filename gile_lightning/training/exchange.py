"""Parameters with sparse gradients, between processes."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, distributed, nn


def broadcast_parameters(parameters: Iterable[Tensor]) -> None:
    """Give parameters, or buffers, the values that they have in the first process."""
    for parameter in parameters:
        distributed.broadcast(parameter.detach(), 0)


def average_sparse_gradients(parameters: Sequence[nn.Parameter]) -> None:
    """Replace sparse gradients by their means over all processes.

    Every process sends the ids and the values of its rows. So what travels grows with the words of
    a batch, not with the vocabulary, and NCCL, with which GPUs exchange gradients and which knows
    no sparse tensors, can do it. All processes add the same rows up in the same order.

    Args:
        parameters: tables [V, d], the same ones in every process. A process whose batch uses none
            of a table sends no rows; if no process does, its gradient stays as it is.
    """
    processes = distributed.get_world_size()
    rows = [_rows(parameter) for parameter in parameters]
    own = torch.tensor([len(ids) for ids, _ in rows], device=parameters[0].device)
    # a device is waited for here: sizes must be known before rows can be sent
    counts = torch.stack(_gathered(own)).T.tolist()
    for parameter, (ids, values), lengths in zip(parameters, rows, counts, strict=True):
        if any(lengths):
            all_ids, all_values = _joined(ids, lengths), _joined(values, lengths)
            mean = torch.sparse_coo_tensor(
                all_ids.unsqueeze(0),
                all_values / processes,
                parameter.shape,
                check_invariants=False,  # which a device would be waited for
            )
            parameter.grad = mean.coalesce()


def _rows(parameter: nn.Parameter) -> tuple[Tensor, Tensor]:
    """Return ids [U] and values [U, d] of a gradient; an id may come again."""
    if parameter.grad is None:
        ids = torch.zeros(0, dtype=torch.long, device=parameter.device)
        return ids, parameter.new_zeros(0, *parameter.shape[1:])
    return parameter.grad._indices()[0], parameter.grad._values()


def _joined(own: Tensor, lengths: Sequence[int]) -> Tensor:
    """Return the rows of all processes, of which each has another number."""
    padded = own.new_zeros(max(lengths), *own.shape[1:])  # all must send tensors of one size
    padded[: len(own)] = own
    parts = zip(_gathered(padded), lengths, strict=True)
    return torch.cat([part[:length] for part, length in parts])


def _gathered(own: Tensor) -> list[Tensor]:
    found = [torch.empty_like(own) for _ in range(distributed.get_world_size())]
    distributed.all_gather(found, own)
    return found
