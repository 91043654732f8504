"""Every benchmark runs, at the smallest sizes that exercise all of it."""

import json
import math

import cost
import million
import prediction
import pytest
import report
import roofline
import torch

from gile_lightning.data import BioASQ
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
    "encoding": {"documents": 300},
    "vectors": {"stored": 1_100, "number": 0},
    "scaling": {
        **{**SMALL, "labels": 300},
        **{"curves": {"labels": [200], "joint_dim": [10]}, "counts": [2]},
    },
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
    ids = torch.tensor([7, 7, 9])
    programs = {
        "product": (lambda: a @ b, (2 * 3 * 4 * 5, 4 * (12 + 20 + 15))),
        "sum": (lambda: a + a, (0, 4 * 3 * 12)),
        "in place": (lambda: a.add_(1), (0, 4 * 2 * 12)),
        "view": (lambda: a.T, (0, 0)),
        "rows": (lambda: table.index_select(0, ids), (0, 3 * 8 + 4 * 2 * 6)),
        "rows written": (lambda: table.index_copy_(0, ids, torch.ones(3, 2)), None),
        "nothing yet": (lambda: torch.empty(9), (0, 0)),
    }
    for name, (program, expected) in programs.items():
        found = roofline.counted(program)
        # ones are written, then read and written into the table
        assert found == (expected or (0, 24 + 3 * 8 + 2 * 24)), name


def test_the_picture_of_costs(tmp_path, capsys):
    stages = [{"stage": "prepare", "documents": 40, "documents/s": 1e4}]
    stages += [{"stage": "predict-bioasq", "documents": 10, "documents/s": 1e3}]
    (tmp_path / "rows.json").write_text(json.dumps(stages))
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
