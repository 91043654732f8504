"""Scores what the peers have written, with the metrics of the package, and writes the results page.

python tests/benchmarks/peers/score.py DIR --corpus attack --page docs/results/peers_attack.md \\
    --runs best.yaml=RUN best_scratch.yaml=RUN

RUN is the folder of a run of our own on the same split; all systems are held against the first of
them. The page has the table; what is written by hand below its mark stays.
"""

import argparse
import json
import shlex
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch
from corpus import read

from gile_lightning.commands.comparing import scored
from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.common.files import write_above
from gile_lightning.common.machine import describe
from gile_lightning.metrics.bootstrap import paired_bootstrap
from gile_lightning.metrics.document_scores import DocumentScores, Scored
from gile_lightning.metrics.evaluation import Evaluation
from gile_lightning.metrics.table import DOCUMENT_METRICS

MARK = "<!-- Above: written by tests/benchmarks/peers/score.py. Below: by hand, and kept. -->"
COLUMNS = ("ranking loss", "average precision", "one-error")
HEADINGS = ("RL", "AvgPr", "OneErr")
Row = dict[str, object]
Kept = dict[str, Scored]


def peers(folder: Path, corpus: str, data: Path | None) -> tuple[list[Row], Kept]:
    """Return a row per peer: its metrics, speed and memory; and the metrics of each document."""
    module = read(corpus, data)
    labels = module.corpus.task.labels
    number = len(module.split("test"))
    metrics = [metric for metric in DOCUMENT_METRICS if metric.heading in COLUMNS]
    rows: list[Row] = []
    scored_peers: Kept = {}
    for path in sorted(folder.glob("*.npy")):
        scores = torch.from_numpy(np.load(path, mmap_mode="r").copy())
        unseen = not bool(scores[:, labels.seen :].isnan().any())
        kept = DocumentScores(labels, Evaluation(labels, scores_unseen=unseen), metrics)
        start = 0
        for batch in module.some_documents("test", range(number)):
            stop = start + len(batch.label_counts)
            kept.update(scores[start:stop].nan_to_num(nan=-1e9), batch)
            start = stop
        scored_peers[path.stem] = kept.result()
        told = json.loads(path.with_suffix(".json").read_text())
        rows.append({"system": path.stem, **figures(scored_peers[path.stem]), **told})
    return rows, scored_peers


def figures(found: Scored) -> Row:
    """Return the mean of each metric over documents, in percent."""
    names = {metric.heading: metric.name for metric in DOCUMENT_METRICS}
    return {
        f"{key} {heading}": round(100 * float(found.metrics[key][names[heading]].nanmean()), 2)
        for key in ("seen", "unseen")
        if key in found.metrics
        for heading in COLUMNS
    }


def behind(first: Scored, other: Scored) -> str:
    """Return by how much a system's average precision on seen labels is below that of the first.

    The interval is a paired bootstrap over test documents.
    """
    if first.gold != other.gold:
        raise SystemExit("the runs were not tested on the documents of the peers")
    one, two = (x.metrics["seen"]["average_precision"] for x in (first, other))
    found = paired_bootstrap(100 * (two - one)[~one.isnan()])
    return f"{found.mean:+.1f} ({found.low:+.1f} to {found.high:+.1f})"


def page(title: str, command: str, rows: list[Row], made: str) -> str:
    """Return the page down to the mark."""
    keys = [f"{kind} {heading}" for kind in ("seen", "unseen") for heading in COLUMNS]
    headings = [f"{kind} {short}" for kind in ("seen", "unseen") for short in HEADINGS]
    first = f"seen AvgPr beside {rows[-1]['first']}" if "first" in rows[-1] else ""
    last = ["training (s)", "texts/s", "MiB"]
    lines = [f"| system | package | {' | '.join([*headings, first, *last])} |"]
    lines.append("|---|---|" + "---:|" * (len(headings) + 4))
    for row in sorted(rows, key=lambda row: -float(str(row[keys[1]]))):
        shown = [f"{row[key]:.2f}" if key in row else "" for key in keys]
        rest = [
            f"{row[key]:,.{0 if float(str(row[key])) >= 10 else 1}f}" if key in row else ""
            for key in ("train_seconds", "texts_per_second", "peak_mib")
        ]
        cells = [row["system"], row["package"], *shown, row.get("behind", ""), *rest]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n\n".join([f"# {title}", "\n".join(lines), "## How it was made", command, made, ""])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", choices=("attack", "medline"), default="attack")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--runs", nargs="*", default=[], metavar="NAME=RUN")
    given = parser.parse_args()
    rows, by_system = peers(given.folder, given.corpus, given.data)
    for name, run in (pair.split("=", 1) for pair in given.runs):
        (by_system[name],) = scored(run).values()
        seconds = read_metrics(Path(run))["seconds"]
        told = {"package": "gile_lightning", "train_seconds": seconds}
        rows.append({"system": name, **figures(by_system[name]), **told})
    if given.runs:
        first = given.runs[0].partition("=")[0]
        for row in rows:
            row["first"] = first
            if row["system"] != first:
                row["behind"] = behind(by_system[first], by_system[str(row["system"])])
    made = f"Made on {datetime.now(UTC).date()} with {describe()}."
    named = {"attack": "ATT&CK", "medline": "MEDLINE"}[given.corpus]
    data = " --data DIR" if given.data else ""
    command = (
        f"    python tests/benchmarks/peers/corpus.py OUT --corpus {given.corpus}{data}\n"
        "    tox -e peer-annif,peer-libmultilabel,peer-napkinxc,peer-pecos,peer-sentences -- OUT\n"
        f"    python tests/benchmarks/peers/score.py OUT --corpus {given.corpus}{data} --page PAGE"
        " \\\n        --runs " + " ".join(f"{shlex.quote(x.split('=')[0])}=RUN" for x in given.runs)
    )
    text = page(f"Peers on {named}, x100", command, rows, made)
    write_above(given.page, text, MARK)
    content = {"made": made, "rows": rows}
    given.page.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")
    print(text)
