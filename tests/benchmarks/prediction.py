"""Label texts with a trained model against many labels: texts per second, and memory.

python tests/benchmarks/prediction.py RUN texts.jsonl [labels.jsonl] [--backend openvino-int8]
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


def main(arguments: list[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint")
    parser.add_argument("texts", type=Path, help="with the columns of training, or text")
    parser.add_argument("labels", nargs="?", type=Path)
    parser.add_argument("--backend", help="runs the pretrained model")
    parser.add_argument("--output", type=Path, help="a JSON file for the seconds")
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    predictor = gile_lightning.load(given.checkpoint, pretrained_backend=given.backend)
    if given.labels:
        predictor.set_labels(given.labels)
    seconds = {"ready": time.perf_counter() - start}
    labels = len(predictor.label_names)
    print(f"{labels:,} labels ready in {seconds['ready']:.1f} s, {memory():.2f} GB")
    records = map(json.loads, given.texts.read_text(encoding="utf-8").splitlines())
    columns = predictor.task.recipe.columns or ("text",)
    texts = [
        [record[column] for column in (("text",) if "text" in record else columns)]
        for record in records
    ]
    begin = time.perf_counter()
    labelled = len(list(predictor.stream(texts)))
    seconds["a text"] = (time.perf_counter() - begin) / labelled
    print(f"{1 / seconds['a text']:.1f} texts/s, {memory():.2f} GB")
    if given.output:
        given.output.write_text(json.dumps(seconds), encoding="utf-8")
    return seconds


if __name__ == "__main__":
    main()
