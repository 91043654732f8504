"""The recommended models as they are shipped, from the fit to the labels of new texts."""

import json
import re

import pytest
import yaml

from gile_lightning import predict
from gile_lightning.commands.cli import GileCLI
from gile_testing import baseline_runs, runs
from gile_testing.exports import same_scores

SCORES = "test.seen.average_precision", "test.unseen.average_precision"
NEW = [
    {"name": "Zorblax Fever", "description": "A fever that the zorblax brings."},
    {"name": "Quibbling", "description": "Disputes about words."},
]


def labels_of_a_new_text(run, folder):
    """Label a text that mentions a label that did not exist in training; names, best first."""
    labels, texts, target = (folder / name for name in ("labels.jsonl", "texts.txt", "out.jsonl"))
    labels.write_text("\n".join(json.dumps(label) for label in NEW))
    texts.write_text("Twelve cases of zorblax fever after travel.\n")
    options = ("--input", texts, "--labels", labels, "--output", target)
    done = runs.call(predict.main, "--checkpoint", run.output, *options)
    assert done.status is None, done.errors
    (line,) = target.read_text().splitlines()
    return [label["name"] for label in json.loads(line)["labels"]]


FILES = [("best.yaml", 7), ("best_scratch.yaml", 4)]


@pytest.mark.parametrize("number", range(len(FILES)))
def test_files_of_the_page_to_lay_over(number, tmp_path):
    config, matchers = FILES[number]
    if config == "best.yaml":
        pytest.importorskip("gile_testing.minilm")
    page = (baseline_runs.SWEEPS.parent / "docs/best.md").read_text()
    over = tmp_path / "mine.yaml"
    over.write_text(re.findall("```yaml\n(.*?)```", page, re.S)[number])
    files = ("--config", str(baseline_runs.SWEEPS / config), "--config", str(over))
    small = ("--data.pretrained", "all-MiniLM-L6-v2") if config == "best.yaml" else ()
    options = (*small, "--output", str(tmp_path / "run"), "--trainer.logger", "false")
    cli = GileCLI([*files, *options, "--trainer.accelerator", "cpu"], "fit", "")
    cli.model.check(cli.datamodule.names, cli.datamodule.subword_tokenizer())
    given = yaml.safe_load(over.read_text())
    if "data" in given:
        assert yaml.safe_load(cli.resolved())["data"]["class_path"] == given["data"]["class_path"]
    assert len(cli.model.factories.matchers) == matchers


def test_scratch_against_the_baselines_on_a_small_corpus(tmp_path):
    run = baseline_runs.trained("best_scratch.yaml")
    seen, unseen = (run.metrics[key] for key in SCORES)
    others = {c: baseline_runs.trained(f"{c}.yaml").metrics for c in ("cosine", "tfidf", "bioasq")}
    assert seen > 1.05 * max(metrics[SCORES[0]] for metrics in others.values())
    # the cosine is hard to beat on the 20 unseen labels that so few documents have
    assert unseen > 0.95 * others["cosine"][SCORES[1]] > 2 * others["bioasq"][SCORES[1]]
    assert labels_of_a_new_text(run, tmp_path) == ["Zorblax Fever", "Quibbling"]
    same_scores(run, tmp_path / "exported")


def test_with_pretrained_vectors(tmp_path):
    pytest.importorskip("gile_testing.minilm")
    few = ("--data.builtin_documents", "60", "--trainer.max_epochs", "4")
    run = baseline_runs.trained("best.yaml", *few)
    scratch = baseline_runs.trained("best_scratch.yaml", *few).metrics
    cosine = baseline_runs.trained("cosine.yaml", *few[:2]).metrics
    popularity = run.metrics["reference.seen.by_popularity.average_precision"]
    assert run.metrics[SCORES[0]] > max(2 * popularity, 0.9 * scratch[SCORES[0]])
    assert run.metrics[SCORES[1]] > 0.8 * cosine[SCORES[1]]  # 15 documents of invented words
    assert labels_of_a_new_text(run, tmp_path) == ["Zorblax Fever", "Quibbling"]


def test_words_alone_when_it_predicts(tmp_path, monkeypatch):
    """Of the pretrained model, only training needs the files."""
    pytest.importorskip("gile_testing.minilm")
    # with 60, as above, a quarter of which test, seeds differ by more than this margin
    few = ("--data.builtin_documents", "200", "--trainer.max_epochs", "4")
    run = baseline_runs.trained("best_fast.yaml", *few)
    scratch = baseline_runs.trained("best_scratch.yaml", *few).metrics
    assert all(run.metrics[key] > 0.9 * scratch[key] for key in SCORES)

    def missing(name):
        raise AssertionError(f"{name} is read")

    for module in ("model", "subwords", "transformer", "vectors"):
        for function in ("find_model", "dimension", "identity"):
            path = f"gile_lightning.data.pretrained.{module}.{function}"
            monkeypatch.setattr(path, missing, raising=False)
    assert labels_of_a_new_text(run, tmp_path) == ["Zorblax Fever", "Quibbling"]
