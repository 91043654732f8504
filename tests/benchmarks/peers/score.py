"""Scores what the peers have written, with the metrics of the package, and writes the results page.

python tests/benchmarks/peers/score.py DIR --corpus attack --page docs/results/peers_attack.md
python tests/benchmarks/peers/score.py DIR --corpus attack --check docs/results/peers_attack.json

DIR has what the peers have written, and `ours.py`. All systems are held against `best.yaml`, or the
one that `--beside` names. The page has the table; what is written by hand below its mark stays.
`--check` holds the systems that DIR has, one or all, against the figures of the page.
"""

import argparse
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch
from corpus import read
from peer import FROM_TEXT, RETRAINED
from torch import Tensor

from gile_lightning.commands.run_folder import read_documents
from gile_lightning.common.files import write_above
from gile_lightning.common.machine import describe
from gile_lightning.metrics.bootstrap import Pair, paired_bootstrap
from gile_lightning.metrics.document_scores import GOLD, figure
from gile_lightning.metrics.evaluation import Evaluation
from gile_lightning.metrics.table import AVERAGE_PRECISION, DOCUMENT_METRICS
from gile_lightning.tracking.tables import flatten_documents

MARK = "<!-- Above: written by tests/benchmarks/peers/score.py. Below: by hand, and kept. -->"
FIRST = "best.yaml"  # that the others of a page are held against
TOLERANCE = 1.0  # points that a figure may differ by, as some peers draw at random; of a ranking
SHARE = 0.2  # loss also by a share of it, as many are small
COLUMNS = ("ranking loss", "average precision", "one-error")
KINDS = ("seen", "unseen")  # of labels
HEADINGS = ("RL", "AvgPr", "OneErr")
Row = dict[str, object]
Kept = dict[str, dict[str, Tensor]]  # of each system, what documents contribute


def scored(folder: Path, corpus: str, data: Path | None) -> tuple[list[Row], Kept]:
    """Return a row per system: its metrics, speed and memory; and the metrics of each document."""
    module = read(corpus, data)
    labels = module.corpus.task.labels
    number = len(module.split("test"))

    def peer(path: Path) -> dict[str, Tensor]:
        scores = torch.from_numpy(np.load(path, mmap_mode="r").copy())
        unseen = not bool(scores[:, labels.seen :].isnan().any())
        evaluation = Evaluation(labels, scores_unseen=unseen, keep=True)
        start = 0
        for batch in module.some_documents(module.language, "test", range(number)):
            stop = start + len(batch.label_counts)
            evaluation.update(scores[start:stop].nan_to_num(nan=-1e9), batch)
            start = stop
        return flatten_documents({path.stem: evaluation.documents()})

    rows: list[Row] = []
    found: Kept = {}
    for path in sorted(folder.glob("*.json")):
        told = json.loads(path.read_text())
        run = told.pop("run", None)
        scores = path.with_suffix(".npy")
        name = path.stem if run is None else f"{path.stem}.yaml"
        found[name] = peer(scores) if run is None else read_documents(folder / run)
        if run is not None:
            unseen = f"test.unseen.{AVERAGE_PRECISION.name}" in found[name]
            told["new_label"] = FROM_TEXT if unseen else RETRAINED
        rows.append({"system": name, **figures(found[name]), **told})
    return rows, found


def figures(found: Mapping[str, Tensor]) -> Row:
    """Return each metric in percent."""
    names = {metric.heading: metric.name for metric in DOCUMENT_METRICS}
    keys = {f"{kind} {title}": f"test.{kind}.{names[title]}" for kind in KINDS for title in COLUMNS}
    return {name: round(100 * figure(found[key]), 2) for name, key in keys.items() if key in found}


def beside(first: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> Row:
    """Return by how much a system's average precision is above that of the first, by labels.

    The interval is a paired bootstrap over test documents.
    """
    if not first[GOLD].equal(other[GOLD]):
        raise SystemExit("the runs were not tested on the documents of the peers")
    told: Row = {}
    for kind in KINDS:
        key = f"test.{kind}.{AVERAGE_PRECISION.name}"
        if key in other:
            found = paired_bootstrap([Pair([first[key]], [other[key]])]).percent
            told[f"beside {kind}"] = f"{found.mean:+.1f} ({found.low:+.1f} to {found.high:+.1f})"
    return told


def page(title: str, command: str, rows: list[Row], made: str, first: str) -> str:
    """Return the page down to the mark; ``first`` is what the others are held against."""
    keys = [f"{kind} {heading}" for kind in KINDS for heading in COLUMNS]
    headings = [f"{kind} {short}" for kind in KINDS for short in HEADINGS]
    headings += [f"{kind} AvgPr less that of {first}" for kind in KINDS]
    headings += ["training (s)", "labelling (texts/s)", "peak memory (MiB)"]
    headings += ["a label that is added later"]
    lines = [f"| system | package | {' | '.join(headings)} |"]
    lines.append("|---|---|" + "---:|" * (len(headings) - 1) + "---|")
    for row in sorted(rows, key=lambda row: -float(str(row[keys[1]]))):
        shown = [f"{row[key]:.2f}" if key in row else "n/a" for key in keys]
        none = "itself" if row["system"] == first else "n/a"
        beside = [row.get(f"beside {kind}", none) for kind in KINDS]
        rest = [
            f"{row[key]:,.{0 if float(str(row[key])) >= 10 else 1}f}"
            for key in ("train_seconds", "texts_per_second", "peak_mib")
        ]
        cells = [row["system"], row["package"], *shown, *beside, *rest, row["new_label"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n\n".join([f"# {title}", "\n".join(lines), "## How it was made", command, made, ""])


def check(rows: list[Row], path: Path) -> bool:
    """Print the figures of a page beside those that were found; return whether all are near.

    A system that the page does not have is not near, and neither is none at all.
    """
    pages = {row["system"]: row for row in json.loads(path.read_text())["rows"]}
    near = bool(rows)
    for row in rows:
        page = pages.get(row["system"], {})
        for key in (f"{kind} {title}" for kind in KINDS for title in COLUMNS):
            there, here = page.get(key), row.get(key)
            if there is not None or here is not None:
                within = None not in (there, here) and abs(there - here) <= allowed(key, there)
                near &= within
                print(f"{row['system']}, {key}: {here}, page {there}{'' if within else ': FAR'}")
    return near


def allowed(key: str, kept: float) -> float:
    """Return by how much a figure may differ from that of the page."""
    return min(TOLERANCE, SHARE * kept) if key.endswith(COLUMNS[0]) else TOLERANCE


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", choices=("attack", "medline"), default="attack")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--beside", default=FIRST, help="that the others are held against")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--page", type=Path)
    what.add_argument("--check", type=Path)
    given = parser.parse_args()
    rows, by_system = scored(given.folder, given.corpus, given.data)
    if given.check is not None:
        raise SystemExit(not check(rows, given.check))
    for row in rows:
        if row["system"] != given.beside:
            row |= beside(by_system[given.beside], by_system[str(row["system"])])
    made = f"Made on {datetime.now(UTC).date()} with {describe()}."
    named = {"attack": "ATT&CK", "medline": "MEDLINE"}[given.corpus]
    data = " --data DIR" if given.data else ""
    peers = "annif,peer-libmultilabel,peer-napkinxc,peer-pecos,peer-sentences"
    command = (
        f"    python tests/benchmarks/peers/corpus.py OUT --corpus {given.corpus}{data}\n"
        f"    tox -e peer-{peers} -- OUT\n"
        f"    python tests/benchmarks/peers/ours.py OUT NAME{data}\n"
        f"    python tests/benchmarks/peers/score.py OUT --corpus {given.corpus}{data} --page PAGE"
    )
    text = page(f"Peers on {named}, x100", command, rows, made, given.beside)
    write_above(given.page, text, MARK)
    content = {"made": made, "rows": rows}
    given.page.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")
    print(text)
