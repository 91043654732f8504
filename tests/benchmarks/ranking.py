"""The three ranking metrics for 26,104 labels, beside scikit-learn; equal results, in one process.

python tests/benchmarks/ranking.py [--documents 1000] [--rounds 5] [--json FILE]
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss

from gile_lightning.metrics import ranking_metrics

LABELS, POSITIVES, BATCH = 26_104, 13, 128


def ours(scores, ids, counts):
    start = time.perf_counter()
    parts = zip(scores.split(BATCH), ids.view(-1, POSITIVES).split(BATCH), strict=True)
    results = [ranking_metrics(s, i.flatten(), counts[: len(s)]) for s, i in parts]
    means = [float(torch.cat(column).mean()) for column in zip(*results, strict=True)]
    return time.perf_counter() - start, means


def scikit_learn(scores, target):
    start = time.perf_counter()
    means = [
        label_ranking_loss(target, scores),
        label_ranking_average_precision_score(target, scores),
        1 - target[np.arange(len(target)), scores.argmax(1)].mean(),
    ]
    return time.perf_counter() - start, means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    generator = torch.Generator().manual_seed(0)
    shape = args.documents, LABELS
    ids = torch.stack(
        [torch.randperm(LABELS, generator=generator)[:POSITIVES] for _ in range(args.documents)]
    )
    counts = torch.full((args.documents,), POSITIVES)
    target = torch.zeros(shape, dtype=torch.bool).scatter(1, ids, True)
    random = torch.randn(shape, generator=generator)
    results = {}
    for name, scores in (("random", random), ("trained", random + 4 * target)):
        rounds = []
        for _ in range(args.rounds):
            seconds, means = ours(scores, ids.flatten(), counts)
            other, reference = scikit_learn(scores.numpy(), target.numpy())
            np.testing.assert_allclose(means, reference, rtol=0, atol=1e-12)
            rounds.append((seconds, other))
        here, there = (statistics.median(column) for column in zip(*rounds, strict=True))
        results[name] = {"seconds": here, "scikit_learn": there, "ratio": there / here}
        print(
            f"{name:8} scores: {args.documents / here:8,.0f} documents/s, "
            f"scikit-learn {args.documents / there:6,.0f}, ratio {there / here:5.1f}"
        )
    if args.json:
        args.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
