"""Three processes that exchange gradients and weights; they import this file for themselves."""

import torch
from torch import distributed, nn

from gile_lightning.training.exchange import average_sparse_gradients, broadcast_parameters

PROCESSES = 3
TABLES = ((7, 2), (5, 3), (4, 1))
ROWS = (  # by process, the rows of each table; None for no gradient
    ([1, 4, 1], [], None),
    ([6], [0, 2], None),
    ([4, 0], None, None),
)


def gradient(table: int, process: int) -> torch.Tensor | None:
    rows = ROWS[process][table]
    if rows is None:
        return None
    generator = torch.Generator().manual_seed(10 * table + process)
    values = torch.rand(len(rows), TABLES[table][1], generator=generator, dtype=torch.float64)
    ids = torch.tensor([rows], dtype=torch.long)
    return torch.sparse_coo_tensor(ids, values, TABLES[table], check_invariants=False)


def average(process: int, folder: str) -> None:
    store = distributed.FileStore(f"{folder}/store", PROCESSES)
    distributed.init_process_group("gloo", store=store, rank=process, world_size=PROCESSES)
    parameters = [nn.Parameter(torch.zeros(size, dtype=torch.float64)) for size in TABLES]
    for table, parameter in enumerate(parameters):
        parameter.grad = gradient(table, process)
        nn.init.constant_(parameter, process + 5.0)
    average_sparse_gradients(parameters)
    broadcast_parameters(parameters)
    weights = [parameter.detach() for parameter in parameters]
    torch.save(([p.grad for p in parameters], weights), f"{folder}/{process}.pt")
    distributed.destroy_process_group()
