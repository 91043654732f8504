"""What a model forgets that goes on with new documents alone: sentences of ATT&CK, by their years.

python tests/benchmarks/forgetting.py --output FOLDER [--seeds 3]

The first model has the sentences of 2017 and 2018, the others go on with those of 2019 and 2020. A
fit that FOLDER has already is not run again. The table is written to FOLDER/table.md.
"""

import argparse
import json
import statistics
import zlib
from collections import Counter
from pathlib import Path

import torch
from sklearn.metrics import label_ranking_average_precision_score as average_precision

import gile_lightning
from gile_lightning import fit
from gile_lightning.data import ATTACK
from gile_lightning.data.formats.skipped import Skipped

FIRST, SECOND, LATER = range(2017, 2019), range(2019, 2021), range(2021, 2023)
CONFIG = """
base: best_scratch.yaml
data:
  class_path: gile_lightning.data.Corpus
  init_args:
    split_year: null
    columns: {id: id, text: text, labels: labels, year: year, split: split}
"""
WAYS = {  # how a model goes on
    "goes on with new documents alone": (),
    "the same with `--data.replay 0.2`": ("--data.replay", "0.2"),
    "the same with `--keep false`": ("--keep", "false"),
}
BATCH = 256


def split_of(document, year):
    """A tenth of the sentences of each year tests and one validates; later years only test."""
    part = zlib.crc32(document["id"].encode()) % 10
    return "test" if year in LATER or part == 0 else "validation" if part == 1 else "train"


def write_corpora(folder):
    """Write the labels, and the documents of each time; returns all documents."""
    corpus, skipped = ATTACK(), Skipped()
    documents = []
    for _, fields in corpus.records(skipped):
        year = int(fields["created"][:4])
        documents.append({**fields, "year": year, "split": split_of(fields, year)})
    labels = [
        {key: getattr(label, key) for key in ("name", "description", "uri", "parents")}
        for label in corpus.descriptions(skipped)
    ]
    files = {"labels": labels, "all": [x for x in documents if x["year"] not in LATER]}
    for name, years in (("first", FIRST), ("second", SECOND)):
        files[name] = [x for x in documents if x["year"] in years]
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "mine.yaml").write_text(CONFIG)
    return documents


def trained(run, *arguments):
    """Fit into a folder, unless it is there; returns epochs and seconds."""
    if not (run / "metrics.json").is_file():
        options = ("--output", run, "--trainer.logger", "false", "--trainer.accelerator", "cpu")
        fit.main([str(x) for x in (*arguments, *options, "--test", "false")])
    metrics = json.loads((run / "metrics.json").read_text())
    return metrics["epochs"], metrics["seconds"]


def fit_all(folder, seed):
    """Fit the first model, those that go on, and one on all documents; returns their folders."""
    own = ("--data.labels", folder / "labels.jsonl", "--data.cache_dir", folder / "cache")
    own += ("--seed_everything", seed)
    config = ("--config", folder / "mine.yaml")
    runs = {"first model": folder / f"runs/{seed}/first"}
    figures = {}

    def run(name, *arguments):
        place = runs.setdefault(name, folder / f"runs/{seed}/{len(runs)}")
        figures[name] = trained(place, *arguments, *own)

    run("first model", *config, "--data.path", folder / "first.jsonl")
    further = ("--start_from", runs["first model"], "--data.path", folder / "second.jsonl")
    for name, options in WAYS.items():
        run(name, *further, *options)
    run("from scratch on all documents", *config, "--data.path", folder / "all.jsonl")
    return runs, figures


def groups_of(documents):
    """Return documents and labels of each column of the table, and how many of them it has."""
    kinds = {"train": Counter(), "new": Counter()}
    for document in documents:
        if document["split"] == "train":
            kinds["train" if document["year"] in FIRST else "new"].update(document["labels"])
    old = set(kinds["train"])
    new = set(kinds["new"]) - old
    every = {label for document in documents for label in document["labels"]}
    unseen, gone = every - old - new, old - set(kinds["new"])
    test = [document for document in documents if document["split"] == "test"]

    def some(years, labels, having=None):
        having = labels if having is None else having
        return [x for x in test if x["year"] in years and having.intersection(x["labels"])], labels

    further = range(2019, 2023)
    return {
        f"old labels ({len(old)}), 2017-18": some(FIRST, old),
        "2019-20": some(SECOND, old),
        "2021-22": some(LATER, old),
        f"those of the {len(gone)} old labels that come no more": some(
            range(2017, 2023), old, gone
        ),
        f"new labels ({len(new)}), 2019-22": some(further, new),
        f"unseen ({len(unseen)}), 2019-22": some(further, unseen),
        "all labels, 2017-22": some(range(2017, 2023), every),
    }


def scores_of(run, folder, groups):
    """Average precision of each group of documents among its labels, x100."""
    model = gile_lightning.load(run)
    model.set_labels(folder / "labels.jsonl")
    place = {name: i for i, name in enumerate(model.label_names)}
    texts = list(dict.fromkeys(x["text"] for test, _ in groups.values() for x in test))
    parts = [model.logits(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)]
    logits = dict(zip(texts, torch.cat(parts).numpy(), strict=True))
    found = []
    for test, labels in groups.values():
        columns = sorted(place[name] for name in labels)
        scores = [logits[x["text"]][columns] for x in test]
        targets = [[i in {place[name] for name in x["labels"]} for i in columns] for x in test]
        found.append(100 * float(average_precision(targets, scores)))
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args(arguments)
    documents = write_corpora(given.output)
    groups = groups_of(documents)
    rows = {}
    for seed in range(1234, 1234 + given.seeds):
        runs, figures = fit_all(given.output, seed)
        for name, run in runs.items():
            rows.setdefault(name, []).append(
                (*scores_of(run, given.output, groups), *figures[name])
            )
    heads = [f"{name} ({len(test)})" for name, (test, _) in groups.items()]
    lines = [
        "| | " + " | ".join([*heads, "epochs", "seconds"]) + " |",
        "|---" * (len(heads) + 3) + "|",
    ]
    for name, found in rows.items():
        cells = []
        for i, values in enumerate(zip(*found, strict=True)):
            spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
            mean = statistics.mean(values)
            cells.append(f"{mean:.1f}{spread}" if i < len(heads) else f"{mean:.0f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    (given.output / "table.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
