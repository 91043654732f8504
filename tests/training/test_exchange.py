"""Weights and sparse gradients of three processes; the oracle is the mean of dense gradients."""

import torch
from torch import multiprocessing

from gile_testing.exchanged import PROCESSES, ROWS, TABLES, average, gradient


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
