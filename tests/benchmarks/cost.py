"""What a document costs as documents, labels and words grow: one picture.

Labels and words grow in a `Workload`, documents in runs of `million.py`, whose folders are given.

python tests/benchmarks/million.py --output DIR10K --documents 10000 --test 500
python tests/benchmarks/million.py --output DIR100K --documents 100000 --test 5000
python tests/benchmarks/cost.py --runs DIR10K DIR100K --json cost.json --picture cost.svg
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from evaluation import ranked
from matplotlib.figure import Figure
from measuring import by_turns, machine, table, write
from scaling import shared_labels
from training import SPARSE, ours
from workload import NAME, Workload

from gile_lightning.systems.system import SCORES

LABELS = (1_000, 10_000, 100_000, 1_000_000)
WORDS = (10_000, 100_000, 500_000, 2_000_000)
STEPS = 3
SCORED = 64  # documents that are evaluated and labelled at a time
STAGES = {
    "prepare": "encoding",
    "fit": "training",
    "evaluate": "all metrics",
    "predict": "labelling",
}
ROWS = "rows-bioasq-fast.json"  # which `million.py` writes by default
Row = Mapping[str, object]


def point(panel: str, rounds: int, **sizes: int) -> list[Row]:
    """Return the microseconds of a document in each program, at some sizes of the `Workload`."""
    workload = Workload(**sizes)
    batches = list(workload.batches(STEPS))
    few = [next(batch.split(SCORED)) for batch in batches]
    model = workload.model().eval()
    names = model.tasks[NAME].labels
    with torch.inference_mode():
        prepared = model.prepare_labels(NAME, names)

    @torch.inference_mode()
    def rank(place: int) -> None:
        for part in few[place].split(max(1, SCORES // workload.labels)):
            ranked(model.score(NAME, part.texts, prepared), part)

    @torch.inference_mode()
    def label(place: int) -> None:
        for part in few[place].texts.split(max(1, SCORES // workload.labels)):
            model.score(NAME, part, prepared).topk(5)

    sampled = {"sampler": shared_labels(workload)}
    size = len(few[0].label_counts)
    programs: dict[str, tuple[Callable[[int], object], int]] = {
        "training": (ours(workload, batches, **SPARSE, **sampled), workload.batch_size),
        "ranking metrics": (rank, size),
        "labelling": (label, size),
    }
    if panel == "words":
        dense = ours(workload, batches, **sampled)
        programs["training, dense Adam"] = dense, workload.batch_size
    seconds = by_turns({name: run for name, (run, _) in programs.items()}, rounds, STEPS)
    value = sizes["labels" if panel == "labels" else "vocabulary"]
    return [
        {"panel": panel, "size": value, "what": name, "us": 1e6 * seconds[name] / each}
        for name, (_, each) in programs.items()
    ]


def stages(folder: Path) -> list[Row]:
    """Return the microseconds of a document in the stages of a run of `million.py`."""
    content = json.loads((folder / ROWS).read_text(encoding="utf-8"))
    return [
        {
            "panel": "documents",
            "size": content["documents"],
            "what": STAGES[row["stage"].partition("-")[0]],
            "us": 1e6 / row["documents/s"],
        }
        for row in content["rows"]
    ]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw a panel for each size that grows."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    panels = list(dict.fromkeys(str(row["panel"]) for row in rows))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    names = list(dict.fromkeys(str(row["what"]) for row in rows))
    for axis, panel in zip(axes, panels, strict=True):
        for i, name in enumerate(names):
            points: list[Any] = [
                (row["size"], row["us"])
                for row in rows
                if (row["panel"], row["what"]) == (panel, name)
            ]
            if points:
                axis.plot(*zip(*sorted(points), strict=True), "o-", color=f"C{i}", label=name)
        axis.set(xscale="log", yscale="log", xlabel=panel)
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small")
    axes[0].set_ylabel("microseconds per document")
    figure.savefig(path, metadata={"Date": None})


def measure(
    rounds: int, labels: Sequence[int] = LABELS, words: Sequence[int] = WORDS, **sizes: int
) -> list[Row]:
    """Measure as labels and words grow; ``sizes`` are of the `Workload`, where not the paper's."""
    points = [partial(point, "labels", rounds, **{**sizes, "labels": n}) for n in labels]
    points += [partial(point, "words", rounds, **{**sizes, "vocabulary": n}) for n in words]
    return [row for each in points for row in each()]


def main(arguments: list[str] | None = None, **sizes: Any) -> None:
    """Measure, print, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--picture", type=Path, required=True)
    given = parser.parse_args(arguments)
    torch.manual_seed(0)
    rows = [row for folder in given.runs for row in stages(folder)]
    rows += measure(given.rounds, **sizes)
    print(table([dict(row) for row in rows]))
    write({"machine": machine(), "rows": rows}, given.json)
    draw(rows, given.picture)


if __name__ == "__main__":
    main()
