"""How close training, evaluation and prediction come to what the processor and its memory allow.

For one batch at the paper's scale all operations of PyTorch are counted: the multiplications and
additions of matrix products, and the bytes that operations read and write. A gather reads the rows
that it returns, not their table. An operation whose inputs are still in a cache is faster than
memory; so the limit by bytes is one for data that come from memory each time. The peaks are those
of a matrix product of 2,048 rows and of a copy of 256 MB, in the same process.

python tests/benchmarks/report.py --only roofline
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from evaluation import ranked
from measuring import by_turns, machine
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry
from training import SHARED, SPARSE, ours
from workload import NAME, Workload

COPIED = 2**26  # float32 numbers: 256 MB
STEPS = 3
FREE = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_"}
GATHERS = {"index_select", "index", "embedding", "gather", "take"}
SCATTERS = {
    *("index_copy_", "index_put_", "_index_put_impl_", "index_add_", "index_add"),
    *("index_fill_", "scatter_add_", "scatter_"),
}


class Counter(TorchDispatchMode):
    """Adds up what operations compute and move.

    Attributes:
        flops: multiplications and additions of matrix products.
        bytes: read and written.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flops = self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket in flop_registry:
            product = flop_registry[func.overloadpacket]
            self.flops += product(*args, **(kwargs or {}), out_val=result)
        if not func.is_view:
            self.bytes += moved(func.overloadpacket.__name__, (args, kwargs), result)
        return result


def moved(name: str, given: Any, result: Any) -> int:
    """Return how many bytes an operation reads and writes.

    Args:
        name: of the operation.
        given: its arguments.
        result: what it returned; in place, one of the arguments.
    """
    inputs = [x for x in tree_leaves(given) if isinstance(x, Tensor)]
    outputs = [x for x in tree_leaves(result) if isinstance(x, Tensor)]
    if name in FREE:
        return 0
    if name in GATHERS:
        ids = [x for x in inputs if not x.is_floating_point()]
        return size(ids) + 2 * size(outputs)
    if name.startswith("_embedding_bag"):
        table, ids = inputs[:2]
        return len(ids) * table[0].nbytes + size([ids, outputs[0]])
    if name in SCATTERS:
        rest = inputs[1:]
        ids = [x for x in rest if not x.is_floating_point()]
        values = [x for x in rest if x.is_floating_point()]
        return size(ids) + (3 if "add" in name else 2) * size(values)
    return size(inputs) + size(outputs)


def size(tensors: list[Tensor]) -> int:
    """Return the bytes of tensors; of sparse ones those of their values."""
    return sum(x._values().nbytes if x.is_sparse else x.nbytes for x in tensors)


def counted(program: Callable[[], object]) -> tuple[int, int]:
    """Return the operations of a program's matrix products, and the bytes that it moves."""
    with Counter() as found:
        program()
    return found.flops, found.bytes


def measure(
    rounds: int, batch_size: int = 64, documents: int = 512, copied: int = COPIED, **sizes: int
) -> list[dict[str, object]]:
    """Measure the programs by turns, and what the machine allows.

    Args:
        rounds: of each.
        batch_size: documents of a training step.
        documents: of an evaluation and a prediction.
        copied: float32 numbers of the copy.
        sizes: of the `Workload`, where they are not the paper's.
    """
    source, target = torch.ones(copied), torch.empty(copied)
    copying = partial(torch.add, source, 0, out=target)
    bandwidth = 2 * source.nbytes / by_turns({"copy": lambda _: copying()}, 5, 3)["copy"]
    peak = float(str(machine()["gflops"])) * 1e9
    workload = Workload(batch_size=batch_size, **sizes)
    (batch,) = workload.batches(1)
    steps = {
        "training, dense Adam, labels drawn per document": {},
        "training, LazyAdam, labels drawn per document": SPARSE,
        "training, LazyAdam, one draw per batch": SHARED,
    }
    programs = {
        name: (ours(workload, [batch] * STEPS, **parts), batch_size)
        for name, parts in steps.items()
    }
    many = Workload(batch_size=documents, **sizes)
    (large,) = many.batches(1)
    model = many.model().eval()
    labels = model.tasks[NAME].labels
    with torch.no_grad():  # inference mode hides matrix products from the count
        prepared = model.prepare_labels(NAME, labels)

    @torch.no_grad()
    def evaluate(_: int) -> None:
        ranked(model.score(NAME, large.texts, prepared), large)

    @torch.no_grad()
    def predict(_: int) -> None:
        model.score(NAME, large.texts, prepared).topk(5)

    programs |= {
        "evaluation: scores and ranks": (evaluate, documents),
        "prediction: five best labels": (predict, documents),
    }
    runs = {name: run for name, (run, _) in programs.items()}
    for run in runs.values():
        run(0)  # makes the optimizers' states, which are no part of a step
    counts = {name: counted(lambda run=run: run(0)) for name, run in runs.items()}
    taken = by_turns(runs, rounds, STEPS)
    rows: list[dict[str, object]] = []
    for name, (_, each) in programs.items():
        flops, read = counts[name]
        rows.append(
            {
                "roofline": name,
                "documents/s": each / taken[name],
                "MFLOP each": flops / each / 1e6,
                "MB each": read / each / 1e6,
                "documents/s by products": each * peak / flops,
                "documents/s by bytes": each * bandwidth / read,
                "% of the lower limit": 100 * max(flops / peak, read / bandwidth) / taken[name],
                "% of both one after the other": 100
                * (flops / peak + read / bandwidth)
                / taken[name],
            }
        )
    first = {"roofline": "this machine", "GFLOP/s": peak / 1e9, "GB/s": bandwidth / 1e9}
    return [first, *rows]
