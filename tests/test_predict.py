import json
import math
import os
import select
import sys
import threading

import pytest
import torch

import gile_lightning
from gile_lightning import predict
from gile_lightning.commands import labelling
from gile_lightning.data.tokenizing.words import tokenize
from gile_lightning.systems.predictor import Predictor
from gile_testing import runs

TEXTS = [
    "Fibrosis of the liver in mice.",
    "Bacterial growth at 37 degrees; a trial.",
    "The kidney of the rat after surgery",
    "Children with asthma (n=12).",
    "Cell lines, gene expression and drug resistance",
]
LABELS = [
    {"name": "Kittens", "description": "Young cats that are kept as pets in the house."},
    {"name": "Liver", "description": "A large organ that makes bile."},
    {"name": "Tests", "description": "Programs that show that others work."},
]


@pytest.fixture(scope="module")
def run():
    return runs.trained()


@pytest.fixture(scope="module")
def scores(run):
    """The logit of each label of the model for each text, computed from the weights."""
    weights, task = stored(run)
    return logits(weights, task, TEXTS, task["labels"]["texts"])


def stored(run):
    """Return the weights and the task of a checkpoint."""
    state = torch.load(run.best, weights_only=True)
    weights = {key: weight.double() for key, weight in state["state_dict"].items()}
    return weights, state["gile_lightning"]["tasks"]["english"]


def logits(weights, task, texts, labels):
    """Score texts and labels one by one, as the paper's equations say."""
    vocabulary = task["vocabulary"].split("\n")
    ids = {word: i for i, word in enumerate(vocabulary)}

    def part(name):
        return weights[f"networks.english.{name}"]

    def linear(name, x):
        return x @ part(f"{name}.weight").T + part(f"{name}.bias")

    def vectors(text, limit):
        words = tokenize(text)[:limit]
        return part("embedding.weight")[[ids.get(w, len(ids) - 1) for w in words]]

    def norm(x):
        return (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt()

    def document(text):
        states = linear("encoder.layer.linear", vectors(text, 300)).relu()
        hidden = linear("encoder.pooling.hidden", states).relu()
        attention = linear("encoder.pooling.score", hidden).softmax(0)
        return linear("output.document_projection", norm((attention * states).sum(0))).relu()

    def label(text):
        return linear("output.label_projection", norm(vectors(text, 50).mean(0))).relu()

    projected = [label(text) for text in labels]
    rows = [[linear("output.unit", document(t) * e).item() for e in projected] for t in texts]
    return torch.tensor(rows)


def calibrated(run, rows, names):
    """The probabilities of logits: the sampler's rate, then the curves of the checkpoint."""
    state = torch.load(run.best, weights_only=True)["gile_lightning"]
    labels, curves = state["tasks"]["english"]["labels"], state["calibrations"]["english"]
    frequencies = dict(zip(labels["names"], labels["frequencies"], strict=True))
    rates = dict(zip(labels["names"], curves["log_rates"].tolist(), strict=False))
    columns = []
    for name, column in zip(names, rows.T, strict=True):
        n = frequencies.get(name, 0)
        c, a, b, d = curves["seen" if n else "unseen"]
        p = (column + rates.get(name, curves["log_rates"][-1].item())).sigmoid()
        odds = p**a / (1 - p) ** b * math.exp(c) * n**d
        columns.append(odds / (1 + odds))
    return torch.stack(columns, 1)


@pytest.fixture
def call(run, tmp_path):
    """Calls the command on lines of text; returns the lines it wrote and what it said."""

    def call(lines, *options):
        source, target = tmp_path / "in", tmp_path / "out.jsonl"
        target.unlink(missing_ok=True)
        source.write_text("".join(f"{line}\n" for line in lines))
        given = ["--checkpoint", run.output, "--input", source, "--output", target]
        done = runs.call(predict.main, *given, *options)
        assert not done.printed
        written = target.read_text().splitlines() if target.is_file() else []
        return [json.loads(line) for line in written], done

    return call


@pytest.fixture
def labels(tmp_path):
    def write(records=LABELS):
        path = tmp_path / "labels.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    return write


def assert_predicted(found, row, probabilities, names, count):
    """Check labels against a row of logits, which ranks them, and scores against probabilities."""
    best = row.argsort(descending=True)[:count]
    assert [label["name"] for label in found] == [names[i] for i in best]
    assert [label["score"] for label in found] == pytest.approx(probabilities[best].tolist(), 2e-4)


# --- scores ---


def test_scores_are_those_of_the_equations(call, run, scores):
    names = gile_lightning.load(run.best).task.labels.names
    written, done = call(TEXTS)
    assert (done.status, done.errors) == (None, "")
    assert [line["id"] for line in written] == [1, 2, 3, 4, 5]
    rows = scores, calibrated(run, scores, names)
    for line, *found in zip(written, *rows, strict=True):
        assert_predicted(line["labels"], *found, names, 5)


def test_new_labels(call, run, labels):
    texts = [label["description"] for label in LABELS]
    names = [label["name"] for label in LABELS]
    scores = logits(*stored(run), TEXTS, texts)
    rows = scores, calibrated(run, scores, names)
    written, done = call(TEXTS, "--labels", labels(), "--top_k", 7)  # more than there are
    own = len(gile_lightning.load(run.best).task.labels)
    assert done.errors == f"labels: 3 of {labels()}, in place of the model's {own:,}\n"
    for line, *found in zip(written, *rows, strict=True):
        assert_predicted(line["labels"], *found, names, 3)


# --- explanations ---


def test_explanations(call, run, tmp_path):
    """A page and JSON beside the lines, and the terminal in their place."""
    lines = [json.dumps({"id": f"<{i}>", "text": text}) for i, text in enumerate(TEXTS[:2])]
    model = gile_lightning.load(run.best)
    asked = model.label_names[-1]
    plain = [{"labels": found} for found in model.predict(TEXTS[:2])]
    more = ("--explain_labels", json.dumps([asked]), "--top_k", 2)
    page, states = tmp_path / "why.html", tmp_path / "why.json"
    for path in (page, states):
        written, done = call(lines, *more, "--explain", path)
        told = f"{page}: explains 2 documents\n" if path == page else ""
        assert (done.status, done.errors) == (None, told)
        assert [line["labels"] for line in written] == [line["labels"][:2] for line in plain]
    found = json.loads(states.read_text())
    for state, line, text in zip(found, plain, TEXTS, strict=False):
        names = [label["name"] for label in line["labels"][:2]]
        assert [label["name"] for label in state["labels"]] == [*names, asked]
        assert state == dict(model.explain(text, [asked], top_k=2).state(), id=state["id"])
    assert page.read_text().count("<h3>&lt;") == 2
    source = tmp_path / "in.jsonl"
    source.write_text("\n".join(lines))
    given = ("--checkpoint", run.output, "--input", source, "--explain", "-", *more)
    done = runs.call(predict.main, *given)
    assert done.printed.count("document <") == 2
    assert "{" not in done.printed
    assert {path.name for path in tmp_path.iterdir()} == {
        *("in", "out.jsonl", "in.jsonl", "why.html", "why.json")
    }


# --- streams ---


def test_pipes(run, monkeypatch):
    """The first line is answered before the second is there; nobody reads the second's answer."""
    text_end, text_start = os.pipe()
    answer_end, answer_start = os.pipe()
    answers = []

    def use():
        os.write(text_start, b"Liver\n")
        if select.select([answer_end], [], [], 30)[0]:
            answers.append(json.loads(os.read(answer_end, 100_000)))
        os.close(answer_end)  # as `| head -1` does
        os.write(text_start, b"Liver\n" * 3)
        os.close(text_start)

    user = threading.Thread(target=use)
    with os.fdopen(text_end) as source, os.fdopen(answer_start, "w") as target:
        monkeypatch.setattr(sys, "stdin", source)
        monkeypatch.setattr(sys, "stdout", target)
        user.start()
        with pytest.raises(SystemExit) as stop:  # no traceback
            predict.main(["--checkpoint", str(run.output), "--batch_size", "1"])
        user.join()
    assert stop.value.code == 1
    assert [answer["id"] for answer in answers] == [1]


# --- errors ---


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--labels", "/no/where.jsonl"), "/no/where.jsonl: no such file"),
        (("--output", "/no/where/out.jsonl"), "/no/where/out.jsonl: No such file or directory"),
        (("--input", "/no/where.txt"), "/no/where.txt: No such file or directory (--input)"),
        (("--checkpoint", "/no/where"), "/no/where: no such file or folder (--checkpoint)"),
        (("--top_k", "0"), "must be above 0: top_k is 0"),
        (("--batch_size", "-1"), "must be above 0: batch_size is -1"),
        (("--device", "gpu7"), "device 'gpu7' cannot be used"),
        (("--explain", "why.pdf"), "why.pdf: a page (.html), JSON (.json) or - for the terminal"),
        (("--explain", "/no/where/why.html"), "/no/where/why.html: the folder is missing"),
        (("--explain_labels", "[x]"), "explain_labels has no effect without explain"),
        (("--label_language", "de"), "label_language has no effect without labels"),
        (
            ("--explain", "why.html", "--explain_labels", "[Nosuch]"),
            "the model can score no label 'Nosuch'",
        ),
        (("--batch_sise", "1"), "unknown key 'batch_sise'; did you mean 'batch_size'?"),
    ],
)
def test_mistakes(call, options, error):
    _, done = call(TEXTS, *options)
    assert done.status == 2
    assert done.errors.startswith(f"error: {error}")


def test_no_file_is_written_over_another_one(call, labels, tmp_path):
    source, target, given = tmp_path / "in", tmp_path / "out.jsonl", labels()
    why = tmp_path / "why.json"
    for options, error in (
        (("--output", source), f"{source}: --output would overwrite that of --input"),
        (("--labels", given, "--output", given), "--output would overwrite that of --labels"),
        (("--explain", why, "--output", why), "--explain would overwrite that of --output"),
    ):
        _, done = call(TEXTS, *options)
        assert done.status == 2
        assert error in done.errors
        assert source.read_text() == "".join(f"{line}\n" for line in TEXTS)
    assert given.stat().st_size
    assert not why.exists()
    assert not target.exists()


def test_mps_is_no_device_to_choose_by_itself(call, monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    devices = []

    def made(system, device, language):
        devices.append(device)
        return Predictor(system, device, language)

    monkeypatch.setattr(labelling, "Predictor", made)
    call(TEXTS)
    assert devices == ["cuda" if torch.cuda.is_available() else "cpu"]
