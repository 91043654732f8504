"""What a GPU does in a second: training, ranking metrics and prediction, in one table.

    python tests/benchmarks/gpu.py                           a GPU, no network, some minutes
    python tests/benchmarks/gpu.py --device cpu --small      tries the program

Data are random ids with the sizes of the paper's BioASQ experiments. A fine-tuned encoder is a
small transformer with random weights: its figures are those of its size, not of a pretrained model.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from workload import NAME, Workload

from gile_lightning.data.loading.ragged import RaggedBatch, Texts, send
from gile_lightning.metrics.collection import RankingMetrics
from gile_lightning.network.encoders import (
    HAN,
    BiGRU,
    Concatenation,
    Encoder,
    IdfMean,
    WordEmbedding,
)
from gile_lightning.training.optimizers import LazyAdam
from gile_lightning.training.samplers import SharedUniformLabels

SPARSE = {"embedding": partial(WordEmbedding, sparse=True), "optimizer": LazyAdam}


class Tuned(Encoder):
    """A small transformer over the first words of a text, and the mean of its states."""

    inputs = frozenset({"words"})

    def __init__(self, input_dim: int, words: int = 128, dim: int = 384, layers: int = 6) -> None:
        super().__init__()
        self.words, self.output_dim = words, dim
        self.into = nn.Linear(input_dim, dim)
        layer = nn.TransformerEncoderLayer(dim, 12, 4 * dim, 0.0, batch_first=True)
        self.layers_ = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts of one sentence each."""
        lengths = texts.sentence_lengths
        places = torch.arange(min(self.words, int(lengths.max())))
        starts = (lengths.cumsum(0) - lengths).unsqueeze(1)
        ids = texts.words[(starts + places).clamp(max=len(texts.words) - 1)].long()
        ids, hidden = (send(x, word_vectors.device) for x in (ids, places >= lengths.unsqueeze(1)))
        states = self.layers_(
            self.into(F.embedding(ids, word_vectors)), src_key_padding_mask=hidden
        )
        return states.masked_fill(hidden.unsqueeze(-1), 0).mean(1)


class Frozen(Encoder):
    """The vectors that a frozen encoder made before training."""

    inputs = frozenset({"words"})

    def __init__(self, input_dim: int, dim: int = 384) -> None:
        super().__init__()
        self.output_dim = dim

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Return random vectors of the right size."""
        return torch.randn(len(texts.document_lengths), self.output_dim, device=word_vectors.device)


def training(workload: Workload, device: torch.device, **parts: object) -> Callable[[int], None]:
    """A training step of a model, labels drawn and sent."""
    batches = list(workload.batches(3))
    model = workload.model(**parts).to(device)
    optimizer = model.configure_optimizers()
    optimizer = optimizer["optimizer"] if isinstance(optimizer, dict) else optimizer

    def step(place: int) -> None:
        optimizer.zero_grad()
        batch: RaggedBatch = batches[place % len(batches)]
        model.training_step({NAME: batch}, place).backward()
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


def measure(step: Callable[[int], None], device: torch.device, seconds: float) -> dict[str, float]:
    """Return seconds per step, the share of the time that the device works, and peak memory."""
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    step(0)
    step(1)
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


def rows(device: torch.device, small: bool):
    """Yield the name of each row, its documents per step, and what makes the step."""
    sizes = {"vocabulary": 2_000, "labels": 300} if small else {}
    for size in (8,) if small else (64, 256, 1024, 4096):
        make = partial(Workload, batch_size=size, **sizes)
        yield f"GILE-WAN, batch of {size:,}", size, lambda m=make: training(m(), device, **SPARSE)
    size = 8 if small else 1024
    make = partial(Workload, batch_size=size, **sizes)
    shared = SPARSE | {"sampler": SharedUniformLabels(0.003)}
    yield f"one draw per batch of {size:,}", size, lambda: training(make(), device, **shared)
    han = SPARSE | {"encoder": partial(HAN, layer=BiGRU)}
    yield f"HAN-biGRU, batch of {size:,}", size, lambda: training(make(), device, **han)
    idf = partial(IdfMean, sublinear_tf=True)
    best = {"embedding": partial(WordEmbedding, trainable=False), "label_encoder": idf}
    for name, own in (("frozen", Frozen), ("fine-tuned", Tuned)):
        own = partial(Tuned, dim=48, layers=1) if small and own is Tuned else own
        parts = best | {"encoder": partial(Concatenation, encoders=[own, idf])}
        batch = 8 if small else 256
        make_best = partial(Workload, batch_size=batch, **sizes)
        yield (
            f"joint space of best.yaml, {name} encoder, batch of {batch}",
            batch,
            lambda m=make_best, p=parts: training(m(), device, **p),
        )
    batch, labels = (16, 300) if small else (4096, 26_104)
    yield f"ranking metrics, {labels:,} labels", batch, lambda: ranking(batch, labels, device)
    labels = 1_000 if small else 1_000_000
    many = partial(
        Workload, batch_size=size, labels=labels, **{k: sizes[k] for k in sizes if k != "labels"}
    )
    yield f"prediction, {labels:,} labels", size, lambda: prediction(many(), device)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="tiny sizes, to try the program")
    parser.add_argument("--minutes", type=float, default=7, help="after which no row begins")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    device = torch.device(arguments.device)
    named = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(f"{named}, torch {torch.__version__}")
    print(f"{'':56}{'documents/s':>12}{'ms a step':>11}{'busy %':>8}{'GiB':>7}")
    for name, documents, make in rows(device, arguments.small):
        if time.perf_counter() - begun > 60 * arguments.minutes:
            print(f"{name:56}left out: {arguments.minutes:g} minutes are over")
            continue
        found = measure(make(), device, 0.2 if arguments.small else 10.0)
        cells = [f"{documents / found['seconds']:12,.0f}", f"{1000 * found['seconds']:11.2f}"]
        cells += [f"{100 * found['busy']:8.0f}" if "busy" in found else f"{'-':>8}"]
        cells += [f"{found['GiB']:7.1f}" if "GiB" in found else f"{'-':>7}"]
        print(f"{name:56}{''.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
