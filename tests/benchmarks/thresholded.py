"""Micro-F1 at 99 thresholds for 26,104 labels, beside 99 comparisons and one of scikit-learn.

python tests/benchmarks/report.py --only thresholded
"""

import statistics
import time

import numpy as np
import torch
from sklearn.metrics import f1_score

from gile_lightning.metrics import MicroF1

POSITIVES = 13


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


def measure(rounds: int, documents: int = 256, labels: int = 26_104) -> list[dict[str, object]]:
    """Return seconds on one thread, after a check that all give the same F1."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    shape = documents, labels
    ids = torch.rand(shape, generator=generator).topk(POSITIVES).indices
    counts = torch.full((documents,), POSITIVES)
    target = torch.zeros(shape, dtype=torch.bool).scatter(1, ids, True)
    random = torch.randn(shape, generator=generator)
    rows = []
    for name, logits in (("dense", random), ("trained", random - 9 + 9 * target)):
        seconds = []
        for _ in range(rounds):
            here, f1 = ours(logits, ids, counts)
            there, expected = comparisons(logits, ids)
            one, at_40 = scikit_learn(logits, target.numpy())
            np.testing.assert_allclose(f1, expected, rtol=0, atol=1e-12)
            np.testing.assert_allclose(f1[39], at_40, rtol=0, atol=1e-12)
            seconds.append((here, there, one))
        here, there, one = (statistics.median(column) for column in zip(*seconds, strict=True))
        rows.append(
            {
                f"micro-F1 of {labels:,} labels": f"{name} logits",
                "s, 99 thresholds": here,
                "s, 99 comparisons": there,
                "x 99 comparisons": there / here,
                "s, scikit-learn at one threshold": one,
            }
        )
    return rows
