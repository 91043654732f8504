"""Label texts with a trained model against many labels: texts per second, and memory.

python tests/benchmarks/prediction.py RUN texts.jsonl [labels.jsonl]
"""

import argparse
import json
import resource
import time
from pathlib import Path

import gile_lightning


def memory() -> float:
    """Return the most memory that this process has had so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint")
    parser.add_argument("texts", type=Path)
    parser.add_argument("labels", nargs="?", type=Path)
    given = parser.parse_args()
    start = time.perf_counter()
    predictor = gile_lightning.load(given.checkpoint)
    if given.labels:
        predictor.use_labels(given.labels)
    ready = time.perf_counter()
    print(
        f"{len(predictor.label_names):,} labels ready in {ready - start:.1f} s, {memory():.2f} GB"
    )
    records = map(json.loads, given.texts.read_text(encoding="utf-8").splitlines())
    texts = [[record[column] for column in predictor.language.recipe.columns] for record in records]
    begin = time.perf_counter()
    list(predictor.stream(texts))
    seconds = time.perf_counter() - begin
    print(f"{len(texts) / seconds:.1f} texts/s, {memory():.2f} GB")


if __name__ == "__main__":
    main()
