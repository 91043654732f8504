"""Two processes exchange the gradient of an embedding: rows, PyTorch's sparse sum, or all of it.

python tests/benchmarks/report.py --only exchange
"""

import json
import tempfile
from pathlib import Path

import torch
from measuring import by_turns
from torch import distributed, multiprocessing, nn

from gile_lightning.training.exchange import average_sparse_gradients

PROCESSES = 2
STEPS = 5


def _process(rank: int, folder: str, rounds: int, words: int, dim: int, rows: int) -> None:
    torch.set_num_threads(1)
    store = distributed.FileStore(f"{folder}/store", PROCESSES)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=PROCESSES)
    generator = torch.Generator().manual_seed(rank)
    ids = torch.randperm(words, generator=generator)[:rows].sort().values.unsqueeze(0)
    values = torch.rand(rows, dim, generator=generator)
    size = words, dim
    own = torch.sparse_coo_tensor(ids, values, size, is_coalesced=True, check_invariants=False)
    parameter, dense = nn.Parameter(torch.zeros(size)), own.to_dense()

    def by_rows(_: int) -> None:
        parameter.grad = own
        average_sparse_gradients([parameter])

    programs = {
        "all rows": lambda _: distributed.all_reduce(dense.clone()),
        "PyTorch's sparse sum (gloo alone has it)": lambda _: distributed.all_reduce(own.clone()),
        "rows of the batch": by_rows,
    }
    seconds = by_turns(programs, rounds, STEPS)
    if rank == 0:
        Path(folder, "seconds.json").write_text(json.dumps(seconds), encoding="utf-8")
    distributed.destroy_process_group()


def measure(
    rounds: int, words: int = 200_000, dim: int = 100, rows: int = 9_000
) -> list[dict[str, object]]:
    """Return the milliseconds of an exchange, by what is sent; ``rows`` of the words differ."""
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(_process, (folder, rounds, words, dim, rows), PROCESSES)
        seconds = json.loads(Path(folder, "seconds.json").read_text(encoding="utf-8"))
    whole = seconds["all rows"]
    return [
        {"exchange": name, "ms": 1e3 * value, "x all rows": whole / value}
        for name, value in seconds.items()
    ]
