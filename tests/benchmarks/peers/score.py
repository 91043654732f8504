"""Scores what the peers have written, with the metrics of the package.

python tests/benchmarks/peers/score.py DIR --corpus attack [--json FILE]
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from corpus import read

from gile_lightning.metrics.document_scores import DocumentScores
from gile_lightning.metrics.evaluation import Evaluation
from gile_lightning.metrics.table import DOCUMENT_METRICS


def main(folder: Path, corpus: str, data: Path | None) -> list[dict[str, object]]:
    """Return a row per system: its metrics on seen and unseen labels, its speed and memory."""
    module = read(corpus, data)
    labels = module.corpus.task.labels
    number = len(module.split("test"))
    rows: list[dict[str, object]] = []
    for path in sorted(folder.glob("*.npy")):
        scores = torch.from_numpy(np.load(path, mmap_mode="r").copy())
        unseen = not bool(scores[:, labels.seen :].isnan().any())
        evaluation = Evaluation(labels, scores_unseen=unseen)
        metrics = [metric for metric in DOCUMENT_METRICS if metric.column]
        kept = DocumentScores(labels, evaluation, metrics)
        start = 0
        for batch in module.some_documents("test", range(number)):
            stop = start + len(batch.label_counts)
            kept.update(scores[start:stop].nan_to_num(nan=-1e9), batch)
            start = stop
        row: dict[str, object] = {"system": path.stem}
        for key, values in kept.result().metrics.items():
            if key in ("seen", "unseen"):
                for metric in metrics:
                    figure = 100 * float(values[metric.name].nanmean())
                    row[f"{key} {metric.heading}"] = round(figure, 2)
        rows.append(row | json.loads(path.with_suffix(".json").read_text()))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", choices=("attack", "medline"), default="attack")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = main(given.folder, given.corpus, given.data)
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
