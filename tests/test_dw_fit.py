"""`fit`, `evaluate`, `predict` and resuming with several languages, on the built-in news."""

import csv
import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sklearn.metrics import precision_recall_fscore_support

import gile_lightning
from gile_lightning import evaluate, fit, predict
from gile_testing import dw_runs, runs
from gile_testing.exports import same_scores

LANGUAGES = ("english", "german")


@pytest.fixture(scope="module")
def run():
    return dw_runs.trained()


def raw(language, split="test"):
    (folder,) = runs.cache().glob(f"builtin-news-*-{dw_runs.DOCUMENTS}")
    lines = (folder / language / f"{split}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_best_epoch_of_each_language_is_kept(run):
    files = {file.name for file in (run.output / "checkpoints").iterdir()}
    assert files == {"best.ckpt", "last.ckpt", "best-english.ckpt", "best-german.ckpt"}
    rows = list(csv.DictReader((run.output / "metrics.csv").read_text().splitlines()))
    for name, column in [("best", "val/f1"), *((f"best-{x}", f"val/{x}/f1") for x in LANGUAGES)]:
        checkpoint = torch.load(run.output / f"checkpoints/{name}.ckpt", weights_only=True)
        best = max(rows, key=lambda row: float(row[column]))
        assert checkpoint["epoch"] == int(best["epoch"])
    for row in rows:
        mean = np.mean([float(row[f"val/{x}/f1"]) for x in LANGUAGES])
        assert float(row["val/f1"]) == pytest.approx(mean)


def test_the_best_epoch_of_a_language_is_a_model_of_it_alone(run, tmp_path):
    best = torch.load(run.best, weights_only=True)
    own = torch.load(run.output / "checkpoints/best-german.ckpt", weights_only=True)
    names = {key for key in best["state_dict"] if key.startswith("networks.german.")}
    assert own["state_dict"].keys() == names
    assert set(own["gile_lightning"]["tasks"]) == {"german"}
    texts = tmp_path / "texts.jsonl"
    texts.write_text(json.dumps(raw("german")[0] | {"language": "en"}))
    arguments = ("--checkpoint", run.output / "checkpoints/best-german.ckpt", "--input", texts)
    done = runs.call(predict.main, *arguments)
    assert done.errors == f"error: {texts}:1: the model has no 'en'; its languages are german\n"
    arguments = dw_runs.arguments(tmp_path / "run", "--ckpt_path", arguments[1])
    assert "weights alone, not a run to go on with" in runs.call(fit.main, *arguments).errors


def test_an_exported_model_of_several_languages(run, tmp_path):
    """What the languages share is stored once."""
    folder = same_scores(run, tmp_path / "model")
    shared = json.loads((folder / "config.json").read_text())["shared_weights"]
    stored = load_file(folder / "model.safetensors")
    whole = torch.load(run.best, weights_only=True)["state_dict"]
    hidden = "networks.{}.encoder.word_pooling.hidden.weight"
    assert shared[hidden.format("german")] == hidden.format("english")
    assert {*stored} >= whole.keys() - shared.keys()
    assert not stored.keys() & shared.keys()


def pieces(article):
    return [article[key] for key in ("title", "teaser", "text") if article.get(key)]


def scores_of(checkpoint, language, threshold):
    """Score the raw test articles with a predictor, and count with scikit-learn."""
    model = gile_lightning.load(checkpoint, language=language)
    articles = raw(language)
    predicted = model.logits([pieces(article) for article in articles]).sigmoid() > threshold
    positives = runs.positives([article["general"] for article in articles], model.label_names)
    scores = precision_recall_fscore_support(
        positives, predicted.numpy(), average="micro", zero_division=0
    )
    return dict(zip(("precision", "recall", "f1"), scores[:3], strict=True))


@pytest.mark.parametrize("language", LANGUAGES)
def test_f1_is_that_of_scikit_learn(run, language):
    for prefix, name in (("test", "best"), ("own_epoch.test", f"best-{language}")):
        found = {k: run.metrics[f"{language}.{prefix}.micro.{k}"] for k in ("precision", "f1")}
        file = run.output / f"checkpoints/{name}.ckpt"
        expected = scores_of(file, language, 0.4)  # fewer than 400 labels
        assert found == pytest.approx({key: expected[key] for key in found}, abs=1e-9)
    assert run.metrics[f"{language}.test.micro.threshold"] == 0.4


def test_what_documents_contribute_adds_up_to_the_figures(run):
    """At the best epoch and at each language's own, of the same documents."""
    with np.load(run.output / "documents.npz") as arrays:
        found = dict(arrays)
    assert "test.micro.f1" not in found  # a mean over languages
    for language in LANGUAGES:
        documents = len(found.pop(f"{language}.documents"))
        assert documents == run.metrics[f"{language}.test.micro.documents"]
        assert {f"{language}.test.micro.f1", f"{language}.own_epoch.test.micro.f1"} < {*found}
    for key, terms in found.items():
        value, count = terms.astype(float).sum(0)
        assert value / count == pytest.approx(run.metrics[key], abs=1e-7)


def test_threshold_tuned_on_the_validation_documents(run):
    model = gile_lightning.load(run.output, language="german")
    checkpoint = torch.load(run.best, weights_only=True)
    tuned = checkpoint["gile_lightning"]["thresholds"]
    assert model.tuned_threshold == tuned["german"] != tuned["english"]
    assert run.metrics["german.test.micro.tuned_threshold"] == tuned["german"]
    text = raw("german")[0]["text"]
    assert model.predict([text], threshold="tuned") == model.predict(
        [text], threshold=tuned["german"]
    )


def test_evaluate_one_of_the_languages(run):
    done = runs.call(evaluate.main, "--checkpoint", run.output, "--data.languages", '["german"]')
    assert done.status is None, done.errors
    assert done.result["test.micro.f1"] == pytest.approx(run.metrics["german.test.micro.f1"])


def test_predict_reads_the_language_of_each_record(run, tmp_path):
    """In the columns of training, and by --language where a record says nothing."""
    articles = {name: raw(name)[:2] for name in LANGUAGES}
    for article in (*articles["german"], *articles["english"]):
        article.pop("language", None)
    languages = ["german", "english", "english", "german"]
    records = [
        articles["german"][0] | {"language": "German"},
        articles["english"][0] | {"language": "en"},
        articles["english"][1],
        articles["german"][1] | {"language": "de"},
    ]
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(json.dumps(record) + "\n" for record in records))
    arguments = ("--checkpoint", run.output, "--input", texts)
    done = runs.call(predict.main, *arguments, "--language", "english", "--batch_size", 3)
    assert done.status is None, done.errors
    found = [json.loads(line) for line in done.printed.splitlines()]
    assert [line["id"] for line in found] == [record["id"] for record in records]
    models = {name: gile_lightning.load(run.output, language=name) for name in LANGUAGES}
    for line, record, language in zip(found, records, languages, strict=True):
        (expected,) = models[language].predict([pieces(record)])
        assert [x["name"] for x in line["labels"]] == [x["name"] for x in expected]
        scores = [x["score"] for x in expected]
        assert [x["score"] for x in line["labels"]] == pytest.approx(scores, rel=1e-5)
        assert expected != models[language].predict([record["text"]])[0]
    done = runs.call(predict.main, *arguments)
    assert f"{texts}:3: the model has several languages (english, german)" in done.errors


@pytest.mark.filterwarnings("ignore:The dirpath has changed")
def test_another_sharing_is_refused(run, tmp_path):
    done = runs.call(evaluate.main, "--checkpoint", run.output, "--model.sharing", "both")
    assert done.status == 2
    assert "set model.sharing as there" in done.errors
    shutil.copytree(run.output, tmp_path / "run")
    arguments = dw_runs.arguments(tmp_path / "run", "--ckpt_path", "last", epochs=3)
    done = runs.call(fit.main, *arguments, "--model.sharing", "none")
    assert done.status == 2
    assert "the optimizer's state is that of another model" in done.errors


def test_resumed_run_equals_an_unbroken_one(tmp_path):
    more = ("--data.samples_per_epoch", "64", "--checkpoint_every", "3")
    whole = dw_runs.trained(*more)
    crash = {"class_path": "gile_testing.crash.Crash", "init_args": {"step": 7}}
    arguments = dw_runs.arguments(tmp_path / "run", *more)
    with pytest.raises(RuntimeError, match="crash"):
        fit.main([*arguments, "--trainer.callbacks", json.dumps([crash])])
    done = runs.call(fit.main, *arguments, "--ckpt_path", "last")
    assert done.status is None, done.errors
    assert runs.reproducible(done.result) == runs.reproducible(whole.metrics)


# --- training further ---


def test_start_from_a_run(run, tmp_path):
    output = tmp_path / "further"
    done = runs.call(
        fit.main,
        *("--start_from", run.output, "--output", output, "--data.languages", '["german"]'),
        *("--data.label_set", "specific", "--trainer.max_epochs", 1),
        *("--trainer.enable_progress_bar", "false", "--trainer.logger", "false"),
    )
    assert done.status is None, done.errors
    before = torch.load(run.best, weights_only=True)["state_dict"]
    after = torch.load(output / "checkpoints/best.ckpt", weights_only=True)["state_dict"]
    assert set(after) == {key for key in before if key.startswith("networks.german.")}
    assert all(after[key].shape == before[key].shape for key in after)  # other labels, same model
    unchanged = [key for key in after if torch.equal(after[key], before[key])]
    assert unchanged == ["networks.german.embedding.weight"]
