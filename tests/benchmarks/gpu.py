"""What a GPU does in a second: training, ranking metrics and prediction, in one table.

    python tests/benchmarks/gpu.py                           a GPU, no network, some minutes
    python tests/benchmarks/gpu.py --profile FOLDER          and what takes the time, a file per row
    python tests/benchmarks/gpu.py --in-turn                 training steps are not prepared ahead
    python tests/benchmarks/gpu.py --device cpu --small      tries the program

Data are random ids with the sizes of the paper's BioASQ experiments. The rows of best.yaml have the
model that the file describes, with random vectors in the place of pretrained ones (see `best.py`).
Fine-tuned, its first encoder is a transformer of the size of all-MiniLM-L6-v2 with random weights,
as in the rows of encoding, and there is no ridge regression, which the package refuses there.

A row that fails says why, and the others go on; the program then leaves with status 1.
"""

import argparse
import cProfile
import gc
import io
import pstats
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import torch
from best import BestWorkload, write_encoder
from workload import NAME, Workload

from gile_lightning.data.loading.prefetch import PrefetchLoader
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.pretrained.backends import Backend, encode_with_passages
from gile_lightning.metrics.collection import RankingMetrics
from gile_lightning.network.encoders import HAN, BiGRU, WordEmbedding
from gile_lightning.systems import NeuralSystem
from gile_lightning.training.optimizers import LazyAdam
from gile_lightning.training.samplers import SharedUniformLabels

SPARSE = {"embedding": partial(WordEmbedding, sparse=True), "optimizer": LazyAdam}


class How(NamedTuple):
    """How models are trained: on which device, prepared ahead or in turn, in bfloat16 or not."""

    device: torch.device
    prefetch: bool = True
    bfloat16: bool = False


def training(workload: Workload, how: How, **parts: object) -> Callable[[int], None]:
    """A training step of a model, labels drawn and sent."""
    batches = list(workload.batches(3))
    return steps(workload.model(**parts), how, lambda place: batches[place % 3])


def best(
    workload: BestWorkload, how: How, tuned: bool = False, layers: int = 6
) -> Callable[[int], None]:
    """A training step of best.yaml: stored vectors are gathered, and sent with what else it reads.

    Args:
        workload: the documents.
        how: it is trained.
        tuned: whether its first encoder is trained.
        layers: of this encoder.
    """
    batches = list(workload.batches(3))
    with tempfile.TemporaryDirectory() as folder:
        encoder = write_encoder(Path(folder), layers) if tuned else None
        model = workload.model(encoder)
    return steps(model, how, lambda place: workload.gathered(batches[place % 3]))


class Endless:
    """The batch of each place, without an end, in the place of a loader."""

    done = 0

    def __init__(self, batch: Callable[[int], RaggedBatch]) -> None:
        self.batch = batch

    def __len__(self) -> int:
        return sys.maxsize

    def __iter__(self) -> Iterator[RaggedBatch]:
        return map(self.batch, count())

    def state_dict(self) -> dict[str, Any]:
        """Return nothing, as it cannot be stored."""
        return {}


def steps(
    model: NeuralSystem, how: How, batch: Callable[[int], RaggedBatch]
) -> Callable[[int], None]:
    """Steps of a model, on the batch of each place."""
    model = model.to(how.device)
    optimizer = model.configure_optimizers()
    prepare = partial(model.prepare_step, NAME)
    prepared: Iterator[Any] = map(prepare, map(batch, count()), count())
    if how.prefetch:
        prepared = iter(PrefetchLoader(Endless(batch), prepare))  # type: ignore[arg-type]
    precision = torch.autocast(how.device.type, torch.bfloat16, enabled=how.bfloat16)

    def step(place: int) -> None:
        optimizer.zero_grad()
        with precision:
            loss = model.training_step({NAME: next(prepared)}, place)
        loss.backward()
        optimizer.step()

    return step


def ranking(rows: int, labels: int, device: torch.device) -> Callable[[int], None]:
    """The ranking metrics of a batch with 13 positives per document."""
    scores = torch.randn(rows, labels, device=device)
    ids = torch.rand(rows, labels).topk(13).indices.sort().values.flatten()
    counts = torch.full((rows,), 13)
    metrics = RankingMetrics(labels=labels).to(device)
    return lambda place: metrics.update(scores, ids, counts, finite=True)


def prediction(workload: Workload, device: torch.device) -> Callable[[int], None]:
    """The ten best labels of a batch of documents."""
    batch = next(workload.batches(1))
    model = workload.model(**SPARSE).to(device).eval()
    with torch.no_grad():
        prepared = model.prepare_labels(NAME, model.tasks[NAME].labels)

    def step(place: int) -> None:
        with torch.inference_mode():
            model.score(NAME, batch.texts, prepared).topk(10).indices.cpu()

    return step


def encoding(
    workload: BestWorkload, device: torch.device, backend: Backend, layers: int = 6
) -> Callable[[int], None]:
    """Vectors of texts and their passages by a frozen encoder, as they are made for the cache."""
    (batch,) = workload.batches(1)
    given = batch.subwords, batch.subword_counts, backend, device
    with tempfile.TemporaryDirectory() as folder:
        encoder = write_encoder(Path(folder), layers)
        encode_with_passages(encoder, *given)  # which stays loaded
    return lambda place: encode_with_passages(encoder, *given).vectors.cpu()


def measure(step: Callable[[int], None], device: torch.device, seconds: float) -> dict[str, float]:
    """Return seconds per step, the share of the time that the device works, and peak memory."""
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    for place in range(3):  # each batch once
        step(place)
    wait()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        step(steps)
        steps += 1
    wait()
    found = {"seconds": (time.perf_counter() - start) / steps}
    if device.type == "cuda":
        found["GiB"] = torch.cuda.max_memory_allocated() / 2**30
        found["busy"] = _busy(step, wait)
    return found


def _busy(step: Callable[[int], None], wait: Callable[[], None]) -> float:
    """Return the share of five steps in which a kernel runs, by PyTorch's profiler."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        start = time.perf_counter()
        for place in range(5):
            step(place)
        wait()
        taken = time.perf_counter() - start
    kernels = (x for x in profiler.events() if x.device_type == DeviceType.CUDA)
    return sum(kernel.time_range.elapsed_us() for kernel in kernels) / 1e6 / taken


def write_profile(step: Callable[[int], None], device: torch.device, file: Path) -> None:
    """Write what five steps do: on the device, on the host by operator, and by Python function."""
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiler:
        for place in range(5):
            step(place)
        if device.type == "cuda":
            torch.cuda.synchronize()
    text = io.StringIO()
    for order in ("self_cuda_time_total", "self_cpu_time_total")[device.type != "cuda" :]:
        table = profiler.key_averages().table(order, row_limit=30, max_name_column_width=70)
        print(f"by {order}", table, sep="\n", file=text)
    calls = cProfile.Profile()
    with calls:
        for place in range(5):
            step(place)
    for order in ("tottime", "cumulative"):
        pstats.Stats(calls, stream=text).sort_stats(order).print_stats(50)
    file.write_text(text.getvalue())


def rows(how: How, small: bool):
    """Yield the name of each row, its documents per step, and what makes the step."""
    device = how.device
    sizes = {"vocabulary": 2_000, "labels": 300} if small else {}
    for size in (8,) if small else (64, 256, 1024, 4096):
        make = partial(Workload, batch_size=size, **sizes)
        yield f"GILE-WAN, batch of {size:,}", size, lambda m=make: training(m(), how, **SPARSE)
    size = 8 if small else 1024
    make = partial(Workload, batch_size=size, **sizes)
    shared = SPARSE | {"sampler": SharedUniformLabels(0.003)}
    yield f"one draw per batch of {size:,}", size, lambda: training(make(), how, **shared)
    han = SPARSE | {"encoder": partial(HAN, layer=BiGRU)}
    yield f"HAN-biGRU, batch of {size:,}", size, lambda: training(make(), how, **han)
    tried = [("frozen", 8), ("fine-tuned", 8)]
    if not small:
        tried = [*(("frozen", few) for few in (32, 64, 256)), ("fine-tuned", 64)]
    for name, few in tried:
        make = partial(BestWorkload, batch_size=few, **sizes)
        options = {"tuned": name == "fine-tuned", "layers": 1 if small else 6}
        yield (
            f"best.yaml, {name} encoder, batch of {few}",
            few,
            lambda m=make, o=options: best(m(), how, **o),
        )
    for backend in ("torch", "torch-bfloat16"):
        make = partial(BestWorkload, batch_size=size, **sizes)
        yield (
            f"encoding by a pretrained model, {backend}",
            size,
            lambda m=make, b=backend: encoding(m(), device, b, 1 if small else 6),
        )
    batch, labels = (16, 300) if small else (4096, 26_104)
    yield f"ranking metrics, {labels:,} labels", batch, lambda: ranking(batch, labels, device)
    labels = 1_000 if small else 1_000_000
    many = partial(
        Workload, batch_size=size, labels=labels, **{k: sizes[k] for k in sizes if k != "labels"}
    )
    yield f"prediction, {labels:,} labels", size, lambda: prediction(many(), device)


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="tiny sizes, to try the program")
    parser.add_argument("--minutes", type=float, default=7, help="after which no row begins")
    parser.add_argument("--seconds", type=float, default=10, help="of steps in each row")
    parser.add_argument("--only", default="", help="rows with these words in their names")
    parser.add_argument("--in-turn", action="store_true", help="prepare no step ahead")
    parser.add_argument("--bfloat16", action="store_true", help="train as bf16-mixed does")
    parser.add_argument("--profile", type=Path, help="a folder for what takes the time")
    arguments = parser.parse_args(given)
    begun, failed = time.perf_counter(), False
    device = torch.device(arguments.device)
    named = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(f"{named}, torch {torch.__version__}")
    print(f"{'':56}{'documents/s':>12}{'ms a step':>11}{'busy %':>8}{'GiB':>7}")
    how = How(device, not arguments.in_turn, arguments.bfloat16)
    for name, documents, make in rows(how, arguments.small):
        if arguments.only not in name:
            continue
        if time.perf_counter() - begun > 60 * arguments.minutes:
            print(f"{name:56}left out: {arguments.minutes:g} minutes are over")
            continue
        try:
            step = make()
            found = measure(step, device, 0.2 if arguments.small else arguments.seconds)
            if arguments.profile is not None:
                arguments.profile.mkdir(parents=True, exist_ok=True)
                write_profile(step, device, arguments.profile / f"{file_name(name)}.txt")
            del step
        except Exception as error:  # of any kind: the other rows are worth having
            failed = True
            print(f"{name:56}failed: {type(error).__name__}: {error}".partition("\n")[0])
        else:
            print(f"{name:56}{cells(found, documents)}", flush=True)
        gc.collect()  # the memory of a row is not the next one's
        if device.type == "cuda":
            torch.cuda.empty_cache()
    if failed:
        sys.exit(1)


def file_name(row: str) -> str:
    """Return the name of a row in letters, digits and underscores.

    >>> file_name("GILE-WAN, batch of 1,024")
    'gile_wan_batch_of_1024'
    """
    return re.sub(r"[^a-z0-9]+", "_", row.lower().replace(",", "")).strip("_")


def cells(found: dict[str, float], documents: int) -> str:
    """Return the figures of a row, of so many documents per step."""
    share = f"{100 * found['busy']:8.0f}" if "busy" in found else f"{'-':>8}"
    memory = f"{found['GiB']:7.1f}" if "GiB" in found else f"{'-':>7}"
    seconds = found["seconds"]
    return f"{documents / seconds:12,.0f}{1000 * seconds:11.2f}{share}{memory}"


if __name__ == "__main__":
    main()
