"""Scores what the peers have written, with the metrics of the package, and writes the results page.

python tests/benchmarks/peers/score.py DIR --corpus attack --page docs/results/peers_attack.md \\
    --runs best.yaml=RUN best_scratch.yaml=RUN

RUN is the folder of a run of our own on the same split. The page has the table; what is written by
hand below its mark stays.
"""

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch
from corpus import read

from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.common.machine import describe
from gile_lightning.metrics.document_scores import DocumentScores
from gile_lightning.metrics.evaluation import Evaluation
from gile_lightning.metrics.table import DOCUMENT_METRICS

MARK = "<!-- Above: written by tests/benchmarks/peers/score.py. Below: by hand, and kept. -->"
COLUMNS = ("ranking loss", "average precision", "one-error")
HEADINGS = ("RL", "AvgPr", "OneErr")
Row = dict[str, object]


def peers(folder: Path, corpus: str, data: Path | None) -> list[Row]:
    """Return a row per peer: its metrics on seen and unseen labels, its speed and memory."""
    module = read(corpus, data)
    labels = module.corpus.task.labels
    number = len(module.split("test"))
    metrics = [metric for metric in DOCUMENT_METRICS if metric.heading in COLUMNS]
    rows: list[Row] = []
    for path in sorted(folder.glob("*.npy")):
        scores = torch.from_numpy(np.load(path, mmap_mode="r").copy())
        unseen = not bool(scores[:, labels.seen :].isnan().any())
        kept = DocumentScores(labels, Evaluation(labels, scores_unseen=unseen), metrics)
        start = 0
        for batch in module.some_documents("test", range(number)):
            stop = start + len(batch.label_counts)
            kept.update(scores[start:stop].nan_to_num(nan=-1e9), batch)
            start = stop
        row: Row = {"system": path.stem}
        for key, values in kept.result().metrics.items():
            if key in ("seen", "unseen"):
                for metric in metrics:
                    figure = 100 * float(values[metric.name].nanmean())
                    row[f"{key} {metric.heading}"] = round(figure, 2)
        rows.append(row | json.loads(path.with_suffix(".json").read_text()))
    return rows


def ours(name: str, run: Path) -> Row:
    """Return the row of a run of our own."""
    found = read_metrics(run)
    row: Row = {"system": name}
    for key in ("seen", "unseen"):
        for heading in COLUMNS:
            figure = found.get(f"test.{key}.{heading.replace(' ', '_').replace('-', '_')}")
            if figure is not None and figure == figure:
                row[f"{key} {heading}"] = round(100 * figure, 2)
    return row | {"package": "gile_lightning", "train_seconds": found["seconds"]}


def page(title: str, command: str, rows: list[Row], made: str) -> str:
    """Return the page down to the mark."""
    keys = [f"{kind} {heading}" for kind in ("seen", "unseen") for heading in COLUMNS]
    headings = [f"{kind} {short}" for kind in ("seen", "unseen") for short in HEADINGS]
    lines = [f"| system | package | {' | '.join(headings)} | training (s) | texts/s | MiB |"]
    lines.append("|---|---|" + "---:|" * (len(headings) + 3))
    for row in sorted(rows, key=lambda row: -float(str(row[keys[1]]))):
        figures = [f"{row[key]:.2f}" if key in row else "" for key in keys]
        rest = [
            f"{row[key]:,.0f}" if key in row else ""
            for key in ("train_seconds", "texts_per_second", "peak_mib")
        ]
        lines.append(f"| {row['system']} | {row['package']} | {' | '.join([*figures, *rest])} |")
    return "\n\n".join([f"# {title}", "\n".join(lines), "## How it was made", command, made, MARK])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", choices=("attack", "medline"), default="attack")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--runs", nargs="*", default=[], metavar="NAME=RUN")
    given = parser.parse_args()
    rows = peers(given.folder, given.corpus, given.data)
    rows += [ours(name, Path(run)) for name, run in (x.split("=", 1) for x in given.runs)]
    made = f"Made on {datetime.now(UTC).date()} with {describe()}."
    named = {"attack": "ATT&CK", "medline": "MEDLINE"}[given.corpus]
    data = " --data DIR" if given.data else ""
    command = (
        f"    python tests/benchmarks/peers/corpus.py OUT --corpus {given.corpus}{data}\n"
        "    tox -e peer-annif,peer-libmultilabel,peer-napkinxc,peer-pecos,peer-sentences -- OUT\n"
        f"    python tests/benchmarks/peers/score.py OUT --corpus {given.corpus}{data} --page PAGE"
    )
    old = given.page.read_text(encoding="utf-8") if given.page.is_file() else ""
    _, mark, below = old.partition(MARK)
    text = page(f"Peers on {named}, x100", command, rows, made)
    given.page.write_text(text + (below if mark else "\n"), encoding="utf-8")
    content = {"made": made, "rows": rows}
    given.page.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")
    print(text)
