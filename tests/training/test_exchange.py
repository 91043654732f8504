"""Weights and sparse gradients of three processes; the oracle is the mean of dense gradients."""

import torch
from torch import distributed, multiprocessing, nn

from gile_lightning.training.exchange import average_rows, take_over

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
    average_rows(parameters)
    take_over(parameters)
    weights = [parameter.detach() for parameter in parameters]
    torch.save(([p.grad for p in parameters], weights), f"{folder}/{process}.pt")
    distributed.destroy_process_group()


def test_every_process_has_the_mean_and_the_weights_of_the_first(tmp_path):
    multiprocessing.spawn(average, (str(tmp_path),), PROCESSES)
    saved = [torch.load(tmp_path / f"{process}.pt") for process in range(PROCESSES)]
    assert all(table.eq(5).all() for _, weights in saved for table in weights)
    found = [gradients for gradients, _ in saved]
    for table, size in enumerate(TABLES[:2]):
        every = [gradient(table, process) for process in range(PROCESSES)]
        dense = [torch.zeros(size).double() if x is None else x.to_dense() for x in every]
        expected = torch.stack(dense).mean(0)
        assert expected.any()
        for gradients in found:
            own = gradients[table]
            assert own.is_coalesced()
            torch.testing.assert_close(own.to_dense(), expected, rtol=0, atol=1e-15)
            assert torch.equal(own.values(), found[0][table].values())  # bit by bit
    touched = {row for process in ROWS for row in process[0]}
    assert found[0][0].indices()[0].tolist() == sorted(touched)
    assert all(gradients[2] is None for gradients in found)
