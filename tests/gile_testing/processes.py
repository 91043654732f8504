"""Runs on several processes, as launchers start them, and callbacks for the tests to look in.

The processes are forked from one that has imported everything, which saves most of the time.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import lightning
import torch
from lightning.pytorch.utilities import rank_zero_only

from gile_lightning import fit
from gile_lightning.data import document_data_module as module
from gile_testing import children

TIMEOUT = 240
GLOO = {
    "class_path": "lightning.pytorch.strategies.DDPStrategy",
    "init_args": {"process_group_backend": "gloo"},
}


class Ended(NamedTuple):
    """The exit status of every process and what each has printed, errors included."""

    status: list[int | None]
    printed: list[str]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def torchrun(rank: int, count: int, port: int) -> dict[str, str]:
    """What torchrun tells the processes of one node."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "GROUP_RANK": "0",
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": "none",
    }


def one_each(rank: int, count: int, port: int) -> dict[str, str]:
    """What torchrun tells processes that are the only ones of their nodes: all take device 0."""
    node = {"LOCAL_RANK": "0", "GROUP_RANK": str(rank), "LOCAL_WORLD_SIZE": "1"}
    return torchrun(rank, count, port) | node


def slurm(rank: int, count: int, port: int, nodes: int = 1) -> dict[str, str]:
    """What srun tells the processes of some nodes, each of which has as many."""
    node, local = divmod(rank, count // nodes)
    return {
        "SLURM_JOB_NAME": "train",
        "SLURM_NTASKS": str(count),
        "SLURM_NTASKS_PER_NODE": str(count // nodes),
        "SLURM_NNODES": str(nodes),
        "SLURM_NODEID": str(node),
        "SLURM_PROCID": str(rank),
        "SLURM_LOCALID": str(local),
        "SLURM_NODELIST": "127.0.0.1" if nodes == 1 else f"127.0.0.[1-{nodes}]",
        "MASTER_PORT": str(port),
    }


def run(directory: Path, arguments: list[str], count=2, launcher=torchrun) -> Ended:
    """Run a fit on several processes in a working directory, to their end.

    Those of `one_each` share a device, which NCCL refuses, so they exchange by gloo.
    """
    port = free_port()
    logs = [directory / f"rank-{rank}.log" for rank in range(count)]
    devices = ["--trainer.devices", str(count), "--trainer.strategy", "ddp"]
    if launcher is one_each:
        devices = ["--trainer.devices", "1", "--trainer.num_nodes", str(count)]
        devices += ["--trainer.strategy", json.dumps(GLOO)]
    status: list[int | None] = []
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(
                children.forked(
                    *(log, "gile_testing.processes", *arguments, *devices),
                    folder=directory,
                    variables=children.environment(**launcher(rank, count, port)),
                )
            )
            for rank, log in enumerate(logs)
        ]
        end = time.monotonic() + TIMEOUT
        for process in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0, end - time.monotonic()))
            status.append(process.returncode)
    return Ended(status, [log.read_text() for log in logs])


def callbacks(**options) -> list[str]:
    """Return the arguments that add callbacks of this module: their names and options."""
    added = [
        {"class_path": f"gile_testing.processes.{name}", "init_args": given}
        for name, given in options.items()
    ]
    return ["--trainer.callbacks", json.dumps(added)]


class Record(lightning.Callback):
    """Writes down the documents of every step, the seeds of its draws, and the last weights."""

    def __init__(self, directory: str) -> None:
        self.directory = Path(directory)
        self.seeds: list[int] = []

    def on_fit_start(self, trainer, model) -> None:
        sampler = model.sampler

        def sample(label_ids, label_counts, frequencies, generator, device):
            self.seeds.append(generator.initial_seed())
            return sampler.sample(label_ids, label_counts, frequencies, generator, device)

        others = {"refine": sampler.refine, "negative_rates": sampler.negative_rates}
        model.sampler = SimpleNamespace(sample=sample, **others)

    def on_train_batch_end(self, trainer, model, outputs, batch, number) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        step = {
            "epoch": trainer.current_epoch,
            "batch": number,
            "step": trainer.global_step,
            "rows": {name: documents.rows.tolist() for name, documents in batch.items()},
            "seeds": self.seeds,
        }
        self.seeds = []
        with open(self.directory / f"rank-{trainer.global_rank}.jsonl", "a") as file:
            file.write(json.dumps(step) + "\n")

    def on_train_end(self, trainer, model) -> None:
        weights = {name: weight.clone() for name, weight in model.state_dict().items()}
        torch.save(weights, self.directory / f"rank-{trainer.global_rank}.pt")


def steps(directory: Path, count: int) -> list[list[dict]]:
    """Return what `Record` wrote: for each step what each process had."""
    files = [directory / f"rank-{rank}.jsonl" for rank in range(count)]
    lines = [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
    return [list(of_step) for of_step in zip(*lines, strict=True)]


class Encodings(lightning.Callback):
    """Adds a line to a file for every corpus that this process encodes."""

    def __init__(self, file: str) -> None:
        encode = module.encode

        def counted(*args, **options):
            with open(file, "a") as lines:
                lines.write("encoded\n")
            return encode(*args, **options)

        module.encode = counted


class Kill(lightning.Callback):
    """Kills one process after a number of steps; the others then wait for it as long as they do.

    Where ``once`` names a file, it is made before, and nothing is killed once it is there. Another
    signal than SIGKILL may be ``sent``.
    """

    def __init__(
        self,
        rank: int,
        step: int,
        hang: str | None = None,
        once: str | None = None,
        sent: str = "SIGKILL",
    ) -> None:
        self.rank, self.step, self.hang, self.once, self.sent = rank, step, hang, once, sent

    def on_train_batch_end(self, trainer, *args) -> None:
        done = self.once is not None and Path(self.once).exists()
        if trainer.global_step < self.step or done:
            return
        if trainer.global_rank == self.rank:
            if self.hang is not None:
                while not Path(self.hang).is_file():
                    time.sleep(0.05)
            if self.once is not None:
                Path(self.once).touch()
            os.kill(os.getpid(), getattr(signal, self.sent))
        elif self.hang is not None:  # busy with something that is no exchange
            Path(self.hang).with_suffix(".partial").write_text(str(os.getpid()))
            Path(self.hang).with_suffix(".partial").rename(self.hang)
            time.sleep(2 * TIMEOUT)


class Break(lightning.Callback):
    """Makes the loss of one process infinite from some step on."""

    def __init__(self, rank: int, step: int) -> None:
        self.rank, self.step = rank, step

    def on_fit_start(self, trainer, model) -> None:
        loss = model.loss

        def broken(*args):
            late = trainer.global_step >= self.step - 1
            return loss(*args) * (torch.inf if late and trainer.global_rank == self.rank else 1)

        broken.log_odds = loss.log_odds
        model.loss = broken


if __name__ == "__main__":  # Lightning read the rank when it was imported, before the fork
    rank_zero_only.rank = int(os.environ.get("RANK") or os.environ["SLURM_PROCID"])
    torch.set_num_threads(1)
    fit.main(sys.argv[1:])
