"""The table of a GPU, on the CPU with tiny sizes, and the model of best.yaml in it."""

import best
import gpu
import pytest
import torch
import yaml
from workload import NAME

from gile_lightning.common.factories import describe


def test_the_table(capsys):
    pytest.importorskip("sentence_transformers")
    gpu.main(["--device", "cpu", "--small"])
    _, _, *rows = capsys.readouterr().out.splitlines()
    names = [row[:56].strip() for row in rows]
    assert len(set(names)) == len(rows) == 9
    assert [f"best.yaml, {kind} encoder, batch of 8" for kind in ("frozen", "fine-tuned")] == [
        name for name in names if "best" in name
    ]
    assert all(float(row[56:68].replace(",", "")) > 0 for row in rows)


def test_training_in_turn_and_in_bfloat16(capsys):
    gpu.main(["--device", "cpu", "--small", "--only", "WAN", "--in-turn", "--bfloat16"])
    (row,) = capsys.readouterr().out.splitlines()[2:]
    assert float(row[56:68].replace(",", "")) > 0


def test_a_row_that_fails(monkeypatch, capsys):
    def rows(how, small):
        yield "one", 1, lambda: 1 / 0
        yield "two", 1, lambda: lambda place: None

    monkeypatch.setattr(gpu, "rows", rows)
    with pytest.raises(SystemExit, match="1"):
        gpu.main(["--device", "cpu", "--small"])
    one, two = capsys.readouterr().out.splitlines()[2:]
    assert one.split() == ["one", "failed:", "ZeroDivisionError:", "division", "by", "zero"]
    assert len(two.split()) == 5


@pytest.fixture(scope="module")
def workload():
    return best.BestWorkload(vocabulary=500, labels=200, batch_size=8, stored=50)


def test_the_model_of_best(workload):
    model = workload.model()
    shipped = yaml.safe_load(best.CONFIG.read_text())["model"]
    network = model.network(NAME)
    for part, name in (("encoder", "encoders"), ("label_encoder", "encoders")):
        kinds = [type(x).__name__ for x in getattr(network, part).encoders]
        assert kinds == ["Pretrained", "IdfMean"]
        assert len(shipped[part]["init_args"][name]) == len(kinds)
    kinds = [type(matcher).__name__ for matcher in network.matchers]
    paths = [x if isinstance(x, str) else x["class_path"] for x in shipped["matchers"]]
    assert kinds == [path.rpartition(".")[2] for path in paths]
    assert network.ridge.ngram_features == shipped["ridge"]["init_args"]["ngram_features"]
    assert network.label_residual.dropout == shipped["label_residual"]["init_args"]["dropout"]
    assert describe(model.sampler)["init_args"]["most"] == 10_000
    assert network.ridge.coefficients.any()
    assert network.encoder.inputs == {"words", "vectors"}


def test_vectors_are_gathered_and_all_parts_add_something(workload):
    model = workload.model().eval()
    (batch,) = map(workload.gathered, workload.batches(1))
    again = workload.gathered(batch)
    assert torch.equal(batch.vectors, again.vectors)
    assert batch.vectors.shape == (8, best.DIM)
    torch.testing.assert_close(batch.vectors.norm(dim=1), torch.ones(8))
    labels = model.prepare_labels(NAME, model.tasks[NAME].labels)
    parts = model.contributions(NAME, batch.texts, labels, torch.arange(200))
    expected = (
        "joint space",
        "words",
        "names",
        "character n-grams",
        "pretrained vectors",
        "regression",
    )
    for name in expected:
        assert parts[name].any(), name


def test_windows_of_subwords():
    workload = best.BestWorkload(vocabulary=500, labels=20, batch_size=40, stored=50)
    (batch,) = workload.batches(1)
    for row in batch.subwords.split(batch.subword_counts.tolist()):
        ends = (row == best.NEXT).nonzero().flatten()
        assert len(ends) == (len(row) - 1) // 257
        assert row[-1] != best.NEXT
    assert (batch.subwords == best.NEXT).any()
