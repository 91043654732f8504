"""Documents per second of the batch loader on one core, beside Hugging Face's torch rows.

python tests/benchmarks/loading.py [--documents 20000] [--rounds 5] [--json FILE]
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import datasets
import pyarrow
import torch

from gile_lightning.data import BioASQ
from gile_lightning.data.loader import COLUMNS, RaggedLoader


def ragged(data: BioASQ, batch_size: int) -> float:
    loader = RaggedLoader(data.split("train"), "english", batch_size, shuffle=True)
    start = time.perf_counter()
    documents = sum(len(batch["english"].label_counts) for batch in loader)
    return documents / (time.perf_counter() - start)


def torch_rows(data: BioASQ, batch_size: int, limit: int = 1_000) -> float:
    """Rows as tensors, one by one, collated: what `with_format("torch")` and a DataLoader do."""
    rows = data.split("train").select_columns(COLUMNS).with_format("torch")
    order = torch.randperm(len(rows))[:limit].tolist()
    start = time.perf_counter()
    for first in range(0, len(order), batch_size):
        batch = [rows[i] for i in order[first : first + batch_size]]
        for column in COLUMNS:
            torch.cat([row[column] for row in batch])
            torch.tensor([len(row[column]) for row in batch])
    return len(order) / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    pyarrow.set_cpu_count(1)
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as cache:
        data = BioASQ(builtin_documents=args.documents, cache_dir=Path(cache))
        data.prepare_data()
        data.setup()
        rounds = [
            (ragged(data, args.batch_size), torch_rows(data, args.batch_size))
            for _ in range(args.rounds)
        ]
    ours, rows = (statistics.median(column) for column in zip(*rounds, strict=True))
    result = {"ragged": ours, "torch_rows": rows, "ratio": ours / rows, "rounds": rounds}
    print(f"ragged batches        {ours:12,.0f} documents/s on one core")
    print(f"torch rows, collated  {rows:12,.0f} documents/s on one core")
    print(f"ratio                 {ours / rows:12.1f}")
    if args.json:
        args.json.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
