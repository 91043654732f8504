"""Scoring documents against all labels and ranking them, beside scikit-learn and torchmetrics.

GILE-WAN at the paper's scale: label texts are projected once, documents are encoded and scored,
then ranked by the three ranking metrics, which must equal scikit-learn's, with ties. Its untrained
scores are raised for the documents' labels, by a normally distributed amount, so that these stand
where a trained model puts them: average precision about a quarter.

python tests/benchmarks/report.py --only metrics evaluation
"""

import math
from functools import partial
from unittest.mock import patch

import numpy as np
import torch
from measuring import by_turns, peak_memory
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss
from torch import Tensor
from torchmetrics.functional.classification import (
    multilabel_ranking_average_precision,
    multilabel_ranking_loss,
)
from training import labels_of
from workload import NAME, Workload

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.metrics import counting, ranking_metrics
from gile_lightning.metrics.evaluation import Evaluation
from gile_lightning.systems.system import RANKED, SCORES


def scores_like_a_trained_models(workload: Workload, batch: RaggedBatch) -> Tensor:
    """Random scores with the documents' labels raised; a tenth of the scores are tied."""
    generator = torch.Generator().manual_seed(0)
    shape = len(batch.label_counts), workload.labels
    scores = torch.randn(shape, generator=generator)
    targets = labels_of(batch, workload.labels)
    scores += targets * (2.5 + 1.5 * torch.randn(shape, generator=generator))
    return torch.where(torch.rand(shape, generator=generator) < 0.1, scores.round(), scores)


def ranked(scores: Tensor, batch: RaggedBatch) -> list[float]:
    """The means of the three ranking metrics, ours."""
    size = max(1, RANKED // scores.shape[1])
    parts = zip(scores.split(size), batch.split(size), strict=True)
    found = [ranking_metrics(some, part.label_ids, part.label_counts) for some, part in parts]
    return [float(torch.cat(values).mean()) for values in zip(*found, strict=True)]


def ranked_in_one_way(worth: float, scores: Tensor, batch: RaggedBatch) -> list[float]:
    """The same where a row is sorted if it has so many positives, whatever the trial says."""
    with patch.object(counting, "_positives_in_time_of_a_sort", lambda *sizes: worth):
        return ranked(scores, batch)


def scikit_learn(scores: np.ndarray, targets: np.ndarray) -> list[float]:
    """The same by scikit-learn; it has no one-error."""
    return [
        float(label_ranking_loss(targets, scores)),
        float(label_ranking_average_precision_score(targets, scores)),
        float(1 - targets[np.arange(len(targets)), scores.argmax(1)].mean()),
    ]


def torchmetrics(scores: Tensor, targets: Tensor) -> list[float]:
    """Ranking loss and average precision by torchmetrics, of scores it takes as they are."""
    ranking = (multilabel_ranking_loss, multilabel_ranking_average_precision)
    return [
        float(metric(scores, targets, scores.shape[1], validate_args=False)) for metric in ranking
    ]


def metrics(rounds: int, documents: int = 512, **sizes: int) -> list[dict[str, object]]:
    """Documents/s of the metrics alone, on the same scores; ``sizes`` are of the `Workload`."""
    workload = Workload(batch_size=documents, **sizes)
    (batch,) = workload.batches(1)
    scores = scores_like_a_trained_models(workload, batch)
    targets = labels_of(batch, workload.labels)
    dense = targets.numpy().astype(bool)
    reference = scikit_learn(scores.double().numpy(), dense)
    ways = {
        "ours, the quicker of both ways": partial(ranked, scores, batch),
        "ours, rows sorted": partial(ranked_in_one_way, 0, scores, batch),
        "ours, rows compared": partial(ranked_in_one_way, math.inf, scores, batch),
    }
    for way in ways.values():
        np.testing.assert_allclose(way(), reference, rtol=0, atol=1e-12)
    few = slice(0, max(1, documents // 8))  # torchmetrics loops over documents in Python
    probabilities, some = scores[few].sigmoid(), targets[few].long()
    programs = {
        "scikit-learn": lambda _: scikit_learn(scores.numpy(), dense),
        "torchmetrics, two of the three": lambda _: torchmetrics(probabilities, some),
        **{name: lambda _, way=way: way() for name, way in ways.items()},
    }
    sizes = {"torchmetrics, two of the three": len(some)}
    memory = {name: peak_memory(lambda run=run: run(0)) for name, run in programs.items()}
    seconds = by_turns(programs, rounds, 1)
    speeds = {name: sizes.get(name, documents) / taken for name, taken in seconds.items()}
    return [
        {
            f"ranking metrics, {workload.labels:,} labels": name,
            "documents/s": speed,
            "x scikit-learn": speed / speeds["scikit-learn"],
            "average precision": reference[1],
            "peak MiB": memory[name],
        }
        for name, speed in speeds.items()
    ]


def whole(rounds: int, labels: int, documents: int, **sizes: int) -> dict[str, object]:
    """Documents/s and memory of encoding, scoring, ranking, and of the five best labels."""
    workload = Workload(labels=labels, batch_size=documents, **sizes)
    (batch,) = workload.batches(1)
    model = workload.model().eval()
    names = model.tasks[NAME].labels
    projections: list[object] = []

    @torch.inference_mode()
    def project() -> None:
        projections[:] = [model.prepare_labels(NAME, names)]

    @torch.inference_mode()
    def evaluate() -> None:
        for part in batch.split(max(1, SCORES // labels)):
            ranked(model.score(NAME, part.texts, projections[0]), part)

    metrics = Evaluation(names, scores_unseen=True, keep=True)  # as in a test

    @torch.inference_mode()
    def test() -> None:
        metrics.reset()
        for part in batch.split(max(1, SCORES // labels)):
            logits = model.score(NAME, part.texts, projections[0])
            size = max(1, RANKED // labels)
            for scores, some in zip(logits.split(size), part.split(size), strict=True):
                metrics.update(scores, some)
        metrics.compute()

    @torch.inference_mode()
    def predict() -> None:
        for part in batch.texts.split(max(1, SCORES // labels)):
            model.score(NAME, part, projections[0]).topk(5)

    programs = {"projected": project, "ranked": evaluate, "tested": test, "labelled": predict}
    memory = peak_memory(lambda: [program() for program in programs.values()])
    turns = {name: lambda _, program=program: program() for name, program in programs.items()}
    seconds = by_turns(turns, rounds, 1)
    return {
        "labels": labels,
        "parameters": sum(p.numel() for p in model.parameters()),
        "labels projected/s": labels / seconds["projected"],
        "documents ranked/s": documents / seconds["ranked"],
        "with all metrics/s": documents / seconds["tested"],
        "five best labels/s": documents / seconds["labelled"],
        "peak MiB beyond the model": memory,
    }


def evaluations(
    rounds: int, labels: int = 26_104, many: int = 1_000_000, documents: int = 512, **sizes: int
) -> list[dict[str, object]]:
    """Return the figures of whole evaluations, at the paper's labels and at a million.

    Args:
        rounds: of each.
        labels: of the first.
        many: labels of the second.
        documents: of the first; the second has at most 64.
        sizes: of the `Workload`, where they are not the paper's.
    """
    few = min(documents, 64)
    return [whole(rounds, labels, documents, **sizes), whole(rounds, many, few, **sizes)]
