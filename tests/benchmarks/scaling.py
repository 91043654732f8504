"""What a training step of GILE-WAN costs as labels, words, d_j, documents and processes grow.

The number of negatives stays at 78 (0.3 % of 26,104 labels), drawn per document or once per batch.

python tests/benchmarks/report.py --only scaling
"""

import socket
from collections.abc import Mapping, Sequence
from functools import partial

import torch
import torch.distributed
from measuring import by_turns, peak_memory
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from training import SPARSE, ours
from workload import NAME, Workload

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.network.outputs import GILE
from gile_lightning.training.samplers import SharedUniformLabels, UniformLabels

NEGATIVES = 78
CURVES = {
    "labels": (1_000, 10_000, 100_000, 1_000_000),
    "vocabulary": (10_000, 100_000, 528_156, 2_000_000),
    "joint_dim": (50, 200, 500, 2_000),
    "batch_size": (16, 64, 256, 1_024),
}
STEPS = 3
Curves = Mapping[str, Sequence[int]]


def point(key: str, value: int, rounds: int, sizes: Mapping[str, int]) -> dict[str, object]:
    """Measure with one size changed."""
    workload = Workload(**sizes | {key: value})
    batches = list(workload.batches(STEPS))
    layer = {"output": partial(GILE, joint_dim=workload.joint_dim)}
    per_document = {"sampler": UniformLabels(negatives=NEGATIVES), **layer}
    shared = {"sampler": shared_labels(workload), **layer}
    programs = {
        "per document": ours(workload, batches, **SPARSE, **per_document),
        "per batch": ours(workload, batches, **SPARSE, **shared),
        "per batch, dense Adam": ours(workload, batches, **shared),
    }
    seconds = by_turns(programs, rounds, STEPS)
    memory = {
        f"{name}, peak MiB": peak_memory(lambda step=step: step(0))
        for name, step in programs.items()
    }
    network = workload.model(**layer).network(NAME)
    speeds = {f"{name}, documents/s": workload.batch_size / s for name, s in seconds.items()}
    parameters = sum(p.numel() for p in network.output.parameters())
    return {
        "size": key,
        "value": value,
        **speeds,
        **memory,
        "parameters of the output layer": parameters,
    }


def shared_labels(workload: Workload) -> SharedUniformLabels:
    """Draw the negatives once per batch."""
    return SharedUniformLabels(min(1, NEGATIVES / workload.labels))


class Step(nn.Module):
    """The loss of a batch as a module, which `DistributedDataParallel` can wrap."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        self.model = workload.model(**SPARSE, sampler=shared_labels(workload))

    def forward(self, batch: RaggedBatch, place: int) -> Tensor:
        """Return the loss."""
        return self.model.training_step({NAME: batch}, place)


def worker(
    rank: int, processes: int, port: int, rounds: int, sizes: Mapping[str, int], results
) -> None:
    """Train in one of several processes, one thread each, with sparse gradients over gloo."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=processes
    )
    workload = Workload(**sizes, seed=rank)
    batches = list(workload.batches(STEPS))
    step = Step(workload)
    optimizer = step.model.configure_optimizers()
    step.model._ddp_params_and_buffers_to_ignore = []
    buffers = [name for name, _ in step.named_buffers()]
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(step, buffers)
    parallel = DistributedDataParallel(step)

    def train(place: int) -> None:
        optimizer.zero_grad()
        parallel(batches[place], place).backward()
        optimizer.step()

    seconds = by_turns({"step": train}, rounds, STEPS)["step"]
    if rank == 0:
        results.put(processes * workload.batch_size / seconds)
    torch.distributed.destroy_process_group()


def processes(
    rounds: int, counts: Sequence[int], sizes: Mapping[str, int]
) -> list[dict[str, object]]:
    """Measure numbers of processes of one thread."""
    torch.multiprocessing.set_forkserver_preload(["gile_lightning.systems"])  # imported once
    rows = []
    for count in counts:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        results = torch.multiprocessing.get_context("forkserver").SimpleQueue()
        torch.multiprocessing.start_processes(
            worker, (count, port, rounds, sizes, results), nprocs=count, start_method="forkserver"
        )
        rows.append({"size": "processes", "value": count, "per batch, documents/s": results.get()})
    return rows


def measure(
    rounds: int, curves: Curves = CURVES, counts: Sequence[int] = (1, 2), **sizes: int
) -> list[dict[str, object]]:
    """Return all curves.

    Args:
        rounds: of each point.
        curves: the values of each size that changes, with the others as they are.
        counts: numbers of processes.
        sizes: of the `Workload`, where they are not the paper's.
    """
    rows = [point(key, value, rounds, sizes) for key, values in curves.items() for value in values]
    return rows + processes(rounds, counts, sizes)
