"""Every benchmark runs, at the smallest sizes that exercise all of it."""

import json
import math
import subprocess
import sys
from functools import partial
from pathlib import Path

import cost
import million
import pages
import prediction
import pretrained_backends
import pytest
import report
import roofline
import torch
import vectors

from gile_lightning.data import BioASQ
from gile_lightning.data.pretrained import backends
from gile_testing import runs
from gile_testing.corpora import ready

SMALL = {"vocabulary": 300, "batch_size": 8}
SIZES = {
    "training": {**SMALL, "labels": 1_000, "kim_labels": 300, "steps": 1},
    "roofline": {**SMALL, "labels": 300, "documents": 8, "copied": 1_000},
    "metrics": {"vocabulary": 300, "labels": 300, "documents": 16},
    "evaluation": {"vocabulary": 300, "labels": 300, "many": 600, "documents": 8},
    "thresholded": {"documents": 8, "labels": 100},
    "encoders": {"documents": 16, "batch_sizes": [4]},
    "feeding": {"documents": 300},
    "encoding": {"documents": 300, "rare": 300},
    "vectors": {"stored": 1_100, "number": 0},
    "scaling": {
        **{**SMALL, "labels": 300},
        **{"curves": {"labels": [200], "joint_dim": [10]}, "counts": [2]},
    },
    "exchange": {"words": 50, "dim": 2, "rows": 5},
    "launching": {"number": 1},
    "aitextml": {
        **{"words": 300, "labels": 100, "documents": 40},
        **{"batch_size": 8, "batches": 1, "plain": 1},
    },
    "encoding_memory": {"documents": [100]},
}


def test_all_are_here():
    assert SIZES.keys() == report.BENCHMARKS.keys()


@pytest.mark.parametrize("name", SIZES)
def test_benchmark(name, tmp_path, capsys):
    given = ["--rounds", "1", "--threads", "1", "--only", name, "--json", tmp_path / "report.json"]
    report.main([str(part) for part in given], {**SIZES, "machine": {"size": 16}})
    rows = json.loads((tmp_path / "report.json").read_text())[name]
    figures = [value for row in rows for value in row.values() if isinstance(value, int | float)]
    assert rows
    assert all(math.isfinite(figure) and figure >= 0 for figure in figures)
    printed = capsys.readouterr().out
    assert all(column in printed for row in rows for column in row)


def test_what_operations_compute_and_move():
    a, b, table = torch.ones(3, 4), torch.ones(4, 5), torch.ones(100, 2)
    other, target, rows = torch.ones(3, 4), torch.empty(3, 4), torch.ones(3, 2)
    ids, counts = torch.tensor([7, 7, 9]), torch.arange(1_000)
    adam = partial(
        torch._fused_adam_,
        *([a], [other], [torch.zeros(3, 4)], [torch.zeros(3, 4)], [], [torch.ones(())]),
        **{"lr": 0.1, "beta1": 0.9, "beta2": 0.9, "weight_decay": 0, "eps": 1e-8},
        **{"amsgrad": False, "maximize": False},
    )
    matrix, twice = 4 * 12, 2 * 4 * 12
    of_ids, of_rows = 3 * 8, 4 * 6
    programs = {
        "product": (lambda: a @ b, (2 * 3 * 4 * 5, 4 * (12 + 20 + 15))),
        "sum": (lambda: a + a, (0, 2 * matrix + matrix)),
        "sum into another": (lambda: torch.add(a, other, out=target), (0, 3 * matrix)),
        "in place": (lambda: a.add_(1), (0, twice)),
        "in a list": (lambda: torch._foreach_add_([a, b], 1), (0, twice + 2 * 4 * 20)),
        "filled": (lambda: a.fill_(1), (0, matrix)),
        "copied": (lambda: a.copy_(other), (0, twice)),
        "made like it": (lambda: torch.zeros_like(a), (0, matrix)),
        "nothing yet": (lambda: torch.empty(9), (0, 0)),
        "view": (lambda: a.T, (0, 0)),
        "rows": (lambda: table.index_select(0, ids), (0, of_ids + 2 * of_rows)),
        "of integers": (lambda: counts.index_select(0, ids), (0, 3 * of_ids)),
        "written": (lambda: table.index_copy_(0, ids, rows), (0, of_ids + 2 * of_rows)),
        "added": (lambda: table.index_add_(0, ids, rows), (0, of_ids + 3 * of_rows)),
        "added by place": (
            lambda: table.index_put_((ids,), rows, accumulate=True),
            (0, of_ids + 3 * of_rows),
        ),
        "rows filled": (lambda: table.index_fill_(0, ids, 0), (0, of_ids + of_rows)),
        # weights and two moments are changed, the gradient and the number of the step are read
        "Adam": (adam, (0, 3 * twice + matrix + 4)),
    }
    found = {name: roofline.counted(program) for name, (program, _) in programs.items()}
    assert found == {name: expected for name, (_, expected) in programs.items()}


def test_the_picture_of_costs(tmp_path, capsys):
    stages = [{"stage": "prepare", "documents/s": 1e4}]
    stages += [{"stage": "predict-bioasq", "documents/s": 1e3}]
    (tmp_path / cost.ROWS).write_text(json.dumps({"documents": 40, "rows": stages}))
    given = ["--runs", tmp_path, "--rounds", 1, "--json", tmp_path / "cost.json"]
    given += ["--picture", tmp_path / "cost.svg"]
    cost.main([*map(str, given)], labels=[300], words=[200], **SMALL)
    rows = json.loads((tmp_path / "cost.json").read_text())["rows"]
    assert rows[0] == {"panel": "documents", "size": 40, "what": "encoding", "us": 100}
    assert rows[1] == {"panel": "documents", "size": 40, "what": "labelling", "us": 1000}
    assert [row["size"] for row in rows[2:]] == [300] * 3 + [200] * 4
    assert all(row["us"] > 0 for row in rows)
    assert "ranking metrics" in (tmp_path / "cost.svg").read_text()


def test_prediction(tmp_path, capsys):
    texts, labels = tmp_path / "texts.jsonl", tmp_path / "labels.jsonl"
    texts.write_text(json.dumps({"title": "Scarring", "abstractText": "Of the liver."}) + "\n")
    labels.write_text(json.dumps({"name": "Liver", "description": "A large organ."}) + "\n")
    found = prediction.main([str(runs.trained().output), str(texts), str(labels)])
    assert all(seconds > 0 for seconds in found.values())
    assert "1 labels ready" in capsys.readouterr().out


def test_writing_of_many_vectors(monkeypatch, tmp_path, capsys):
    for place, name in (
        (backends, "encode"),
        (backends, "identity"),
        (vectors.vectors, "dimension"),
    ):
        monkeypatch.setattr(place, name, getattr(place, name))  # so that it is put back
    vectors.stand_in()
    for before in (0, 1_500):
        vectors.write_all(tmp_path, 1_500)
        known, stored, *_ = capsys.readouterr().out.splitlines()[-1].split()
        assert (int(known), int(stored)) == (before, 1_500)


def test_what_ranks_with_pretrained_vectors():
    corpus = pretrained_backends.read(None, 10)
    assert len(corpus.labels) - corpus.seen == 94  # techniques of 2021 and 2022
    assert corpus.targets.shape == (10, len(corpus.labels))
    assert corpus.targets.any(1).all()


def test_pretrained_backends(monkeypatch, tmp_path, capsys):
    texts = ["They stole a password.", "They sent a letter."]
    labels = ["letters", "passwords", "mail", "secret words"]  # two seen, two unseen
    targets = torch.eye(2).flip(0).repeat(1, 2).bool().numpy()
    small = pretrained_backends.Corpus(texts, labels, targets, 2)
    monkeypatch.setattr(pretrained_backends, "read", lambda *given: small)
    given = ["--texts", "1", "--rounds", "1", "--output", str(tmp_path / "figures.json")]
    rows = pretrained_backends.main(given)
    assert {"torch", "torch-bfloat16", "SentenceTransformer.encode"} <= {r["encoder"] for r in rows}
    assert all(row["cosine with torch"] == pytest.approx(1, abs=1e-3) for row in rows[:3])
    assert all(row["seen AvgPr"] == row["unseen AvgPr"] == 100 for row in rows[:3])
    assert "4 labels" in capsys.readouterr().out


def test_words_are_the_same_whatever_splits_them():
    """The program runs by itself, as its first lines say."""
    script = Path(__file__).with_name("same_words.py")
    done = subprocess.run(
        [sys.executable, script, "--texts", "300"], check=True, capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ATT&CK: ")
    assert lines[1:] == ["random: 300 texts, 0 differ"]


def test_the_corpus_of_a_million(tmp_path):
    """Its files are those of BioASQ, and the test documents have labels of their own."""
    million.write_corpus(tmp_path / "corpus", 40, 10)
    data = ready(
        BioASQ(
            str(tmp_path / "corpus"),
            split_year=million.TEST_YEAR,
            validation_size=5,
            min_count=1,
            cache_dir=tmp_path / "cache",
        )
    )
    sizes = {name: len(split) for name, split in data.corpus.splits.items()}
    assert sizes == {"train": 25, "validation": 5, "test": 10}
    labels = data.corpus.task.labels
    new = {million._name(i) for i in range(million.LABELS * 9 // 10, million.LABELS)}
    assert not new & set(labels.names[: labels.seen])
    assert new & set(labels.names)


def test_what_a_stage_takes(tmp_path):
    program = ("timeit", "-n1", "-r1", "-s", "import time; x = b'x' * 2**27", "time.sleep(1.5)")
    row = million.run("sleep", program, tmp_path)
    assert "1.5 sec per loop" in (tmp_path / "sleep.log").read_text()
    assert 128 <= row["peak MiB"] < 256
    assert 1.5 <= row["seconds"] < 60


def test_time_left_is_compared_with_what_it_took():
    said = [(60.0, "encoding: 6 of 9 documents, 1 min left"), (90.0, "encoding: 8 of 9, 10 s left")]
    assert million.estimate(said) == "encoding: 60 s, was 40 s"


def test_the_page_and_its_check(tmp_path, capsys):
    page = tmp_path / "speed.md"
    given = ["--rounds", "1", "--threads", "1", "--only"]
    sizes = {**SIZES, "machine": {"size": 16}}
    page.write_text(f"Of another day.\n\n{pages.MARK}\n\nBy hand.\n")
    report.main([*given, "exchange", "--page", str(page)], sizes)
    report.main([*given, "vectors", "--page", str(page)], sizes)
    text = page.read_text()
    kept = json.loads(page.with_suffix(".json").read_text())
    assert list(kept) == ["date", "machine", "vectors", "exchange"]
    assert "Of another day" not in text
    assert text.endswith("By hand.\n")
    assert "`vectors.py`: Vectors of a pretrained model in the cache" in text
    assert f"| {kept['vectors'][1]['vectors']} | " in text
    assert f"| {kept['exchange'][2]['exchange']} | " in text
    kept["vectors"][1]["x as it was"] = 1e9
    page.with_suffix(".json").write_text(json.dumps(kept))
    check = f"`python tests/benchmarks/report.py --check docs/results/{page.stem}.json` "
    assert check in text
    with pytest.raises(SystemExit, match="1"):
        report.main([*given, "vectors", "--check", str(page)], sizes)
    assert "OUTSIDE vectors, one file, by the text, x as it was: kept 1e+09, now" in (
        capsys.readouterr().out
    )


def test_figures_of_another_machine_do_not_stay_on_the_page(tmp_path):
    page, measures = tmp_path / "speed.md", {"a": pages.markdown, "b": pages.markdown}
    machine = {
        "processor": "P",
        "threads": 1,
        "gflops": 1.0,
        "python": "",
        "torch": "",
        "rounds": 1,
    }
    pages.write_page(page, {"machine": machine, "a": [{"a": 1}]}, measures)
    pages.write_page(page, {"machine": {**machine, "threads": 2}, "b": [{"b": 1}]}, measures)
    assert list(pages.read(page)) == ["date", "machine", "b"]


def test_ratios_of_a_page(monkeypatch, tmp_path):
    one, two = {"a": "one", "x b": 1.0}, {"a": "two", "documents/s": 9.0, "x b": 2.0}
    now = {"machine": {}, "a": [one, {**two, "documents/s": 1.0, "x b": 2.9}]}
    (ratio,) = pages.compared({"date": "", "a": [one, two]}, now)
    assert ratio == ("a", "two", "x b", 2.0, 2.9)
    assert ratio.within
    assert not ratio._replace(now=3.1).within
    assert not ratio._replace(now=1.3).within
    assert pages.compared({"a": [one, two]}, {"a": [one]}) == [("a", "two", "x b", 2.0, None)]
    assert ("a", "two", "x b", None, 2.9) in pages.compared({}, now)
    assert not any(ratio.within for ratio in pages.compared({}, now))
    page = tmp_path / "speed.json"
    page.write_text(json.dumps({"machine": {}, "a": [one, two]}))
    monkeypatch.setitem(report.BENCHMARKS, "a", lambda rounds: now["a"])
    report.main(["--only", "a", "--check", str(page)], {"machine": {"size": 16}})  # no exit


@pytest.mark.parametrize("content", [None, "{}", '{"machine": "", "lines": []}'])
def test_another_file_than_a_page_of_benchmarks(content, tmp_path, capsys):
    if content is not None:
        (tmp_path / "page.json").write_text(content)
    with pytest.raises(SystemExit, match="2"):
        report.main(["--check", str(tmp_path / "page.json")])
    assert f"--check: {'[Errno 2]' if content is None else tmp_path}" in capsys.readouterr().err
