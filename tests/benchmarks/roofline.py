"""How close training, evaluation and prediction come to what the processor and its memory allow.

For one batch at the paper's scale all operations of PyTorch are counted: the multiplications and
additions of matrix products, and the bytes that operations read and write. A gather reads the rows
that it returns, not their table. An operation whose inputs are still in a cache is faster than
memory; so the limit by bytes is one for data that come from memory each time. Ranks are not
counted, as NumPy makes them. The peaks are those of a matrix product of 2,048 rows and of a copy
of 256 MB, in the same process; beside them stands a gather of 10,000 word vectors at random.

python tests/benchmarks/report.py --only roofline
"""

from collections.abc import Callable, Mapping, Sequence
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

from gile_lightning.systems import NeuralSystem

COPIED = 2**26  # float32 numbers: 256 MB
STEPS = 3
GATHERED = 10_000  # rows, as many as a batch has different words
REPEATED = 100  # gathers at most
FREE = {  # they write nothing, or what they make of a tensor is counted as it is filled
    *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_"),
    *("_sparse_coo_tensor_with_dims_and_tensors", "_indices", "_values"),
}
MADE = {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}
FILLED = {"zero_", "fill_", "copy_"}  # what they write they do not read
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
            self.bytes += moved(func, args, kwargs or {}, result)
        return result


def moved(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> int:
    """Return how many bytes an operation reads and writes.

    Args:
        func: the operation.
        args: its arguments by place.
        kwargs: its arguments by name.
        result: what it returned.
    """
    name = func.overloadpacket.__name__
    if name in FREE:
        return 0
    given = {**dict(zip((x.name for x in func._schema.arguments), args, strict=False)), **kwargs}
    changed = {
        x.name for x in func._schema.arguments if x.alias_info is not None and x.alias_info.is_write
    }
    if name == "_fused_adam_" and given.get("grad_scale") is None:
        changed.discard("grads")  # which are changed only to undo a scale
    written = tensors([value for key, value in given.items() if key in changed])
    others = tensors([value for key, value in given.items() if key not in changed])
    places = {id(x) for x in (*written, *others)}
    made = [x for x in tensors(result) if id(x) not in places]
    if name in GATHERS:
        table, *ids = others
        return size(ids) + 2 * size(made)
    if name.startswith("_embedding_bag"):
        table, ids = others[:2]
        return len(ids) * table[0].nbytes + size([ids, made[0]])
    if name in SCATTERS:
        ids = [x for x in others if x.dtype in (torch.int32, torch.int64)]
        values = [x for x in others if x.dtype not in (torch.int32, torch.int64)]
        adds = "add" in name or given.get("accumulate")
        rows = size(values) or written[0].nbytes // len(written[0]) * sum(map(len, ids))
        return size(ids) + (3 if adds else 2 if values else 1) * rows
    if name in MADE:
        return size(made)
    if name in FILLED or "out" in changed:
        return size(others) + size(written)
    return size(others) + 2 * size(written) + size(made)


def tensors(values: Any) -> list[Tensor]:
    """Return all tensors among some values."""
    return [x for x in tree_leaves(values) if isinstance(x, Tensor)]


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
    gathered = {"roofline": "rows of word vectors, gathered at random", "GB/s": at_random(model)}
    return [first, gathered, *rows]


def at_random(model: NeuralSystem) -> float:
    """Return how many GB/s a gather of rows of word vectors reads and writes."""
    table = model.network(NAME).word_vectors.detach()
    generator, rows = torch.Generator().manual_seed(0), torch.empty(GATHERED, table.shape[1])
    ids = iter(torch.randint(len(table), (REPEATED, GATHERED), generator=generator))

    def gather(_: int) -> None:
        torch.index_select(table, 0, next(ids), out=rows)  # others each time: no cache has them

    return 2e-9 * rows.nbytes / by_turns({"gather": gather}, 5, 3)["gather"]
