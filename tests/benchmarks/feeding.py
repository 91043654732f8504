"""What feeds a model: batches, and the wait for data in a fit.

python tests/benchmarks/report.py --only feeding
"""

import contextlib
import csv
import io
import statistics
import tempfile
import time
from pathlib import Path

import datasets
import pyarrow
import torch
from measuring import peak_memory

from gile_lightning import fit
from gile_lightning.data import BioASQ
from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.rows import COLUMNS

BATCH = 64
CONFIG = Path(__file__).parents[2] / "sweeps/bioasq.yaml"


def ragged(data: BioASQ) -> tuple[float, float]:
    """Batches and documents per second from memory-mapped shards."""
    loader = RaggedLoader(data.split("train"), "english", BATCH, shuffle=True)
    start = time.perf_counter()
    documents = sum(len(batch["english"].label_counts) for batch in loader)
    seconds = time.perf_counter() - start
    return len(loader) / seconds, documents / seconds


def torch_rows(data: BioASQ, limit: int = 1_000) -> float:
    """Rows as tensors, one by one, collated: what `with_format("torch")` and a DataLoader do."""
    rows = data.split("train").select_columns(COLUMNS).with_format("torch")
    order = torch.randperm(len(rows))[:limit].tolist()
    start = time.perf_counter()
    for first in range(0, len(order), BATCH):
        batch = [rows[i] for i in order[first : first + BATCH]]
        for column in COLUMNS:
            torch.cat([row[column] for row in batch])
            torch.tensor([len(row[column]) for row in batch])
    return len(order) / (time.perf_counter() - start)


def data_wait(cache: Path, documents: int) -> float:
    """Share of a training step that waits for the batch, in a fit of GILE-WAN."""
    output = cache / "run"
    args = [
        *("--config", str(CONFIG), "--output", str(output), "--data.cache_dir", str(cache)),
        *("--data.builtin_documents", str(documents), "--data.batch_size", str(BATCH)),
        *("--trainer.max_epochs", "2", "--trainer.accelerator", "cpu"),
        *("--trainer.enable_progress_bar", "false", "--trainer.logger", "false"),
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        fit.main(args)
    rows = list(csv.DictReader((output / "metrics.csv").read_text().splitlines()))
    return float(rows[-1]["train/data_wait"])


def measure(rounds: int, documents: int = 12_000) -> list[dict[str, object]]:
    """Measure all of it on one core; medians of the rounds.

    Args:
        rounds: of each measurement but the fit, which is one.
        documents: of the built-in corpus.

    Returns:
        A row for each figure:
        ``batches`` and ``documents`` per second from local shards, ``torch_rows`` in documents per
        second and the ``ratio`` of the two; ``data_wait``, a share; ``batches_peak_mib``.
    """
    torch.set_num_threads(1)
    pyarrow.set_cpu_count(1)
    datasets.disable_progress_bars()
    columns: dict[str, list[float]] = {}

    def add(name: str, value: float) -> None:
        columns.setdefault(name, []).append(value)

    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        data = BioASQ(builtin_documents=documents, cache_dir=cache)
        data.prepare_data()
        data.setup()
        for _ in range(rounds):
            batches, of_shards = ragged(data)
            rows = torch_rows(data)
            add("batches", batches)
            add("documents", of_shards)
            add("torch_rows", rows)
            add("ratio", of_shards / rows)
        add("data_wait", data_wait(cache, min(documents, 4_000)))
        add("batches_peak_mib", peak_memory(lambda: ragged(data)) or float("nan"))
    return [
        {"feeding": name, "measured": statistics.median(values)} for name, values in columns.items()
    ]
