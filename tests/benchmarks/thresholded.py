"""Micro-F1 at 99 thresholds for 26,104 labels, beside 99 comparisons and one of scikit-learn.

python tests/benchmarks/thresholded.py [--documents 256] [--rounds 5] [--json FILE]
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import f1_score

from gile_lightning.metrics import MicroF1

LABELS, POSITIVES = 26_104, 13


def ours(logits, ids, counts):
    metric = MicroF1()
    start = time.perf_counter()
    metric.update(logits, ids.flatten(), counts)
    scores = metric.compute()
    return time.perf_counter() - start, scores.f1.numpy()


def comparisons(logits, ids):
    start = time.perf_counter()
    probabilities = logits.sigmoid()
    of_positives = probabilities.gather(1, ids)
    f1 = []
    for limit in torch.tensor(MicroF1().thresholds):
        true_positives = 2 * (of_positives > limit).count_nonzero().double()
        f1.append(true_positives / ((probabilities > limit).count_nonzero() + ids.numel()))
    return time.perf_counter() - start, np.array(f1)


def scikit_learn(logits, target):
    start = time.perf_counter()
    f1 = f1_score(target, (logits.sigmoid() > 0.4).numpy(), average="micro", zero_division=0)
    return time.perf_counter() - start, f1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    shape = args.documents, LABELS
    ids = torch.rand(shape, generator=generator).topk(POSITIVES).indices
    counts = torch.full((args.documents,), POSITIVES)
    target = torch.zeros(shape, dtype=torch.bool).scatter(1, ids, True)
    random = torch.randn(shape, generator=generator)
    results = {}
    for name, logits in (("dense", random), ("trained", random - 9 + 9 * target)):
        rounds = []
        for _ in range(args.rounds):
            here, f1 = ours(logits, ids, counts)
            there, expected = comparisons(logits, ids)
            one, at_40 = scikit_learn(logits, target.numpy())
            np.testing.assert_allclose(f1, expected, rtol=0, atol=1e-12)
            np.testing.assert_allclose(f1[39], at_40, rtol=0, atol=1e-12)
            rounds.append((here, there, one))
        here, there, one = (statistics.median(column) for column in zip(*rounds, strict=True))
        results[name] = {"seconds": here, "comparisons": there, "scikit_learn_at_one": one}
        print(
            f"{name:8} logits: {1e3 * here:6.1f} ms for 99 thresholds, comparisons "
            f"{1e3 * there:7.1f} ms, scikit-learn {1e3 * one:7.1f} ms for one threshold"
        )
    if args.json:
        args.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
