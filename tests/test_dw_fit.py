"""`fit`, `evaluate`, `predict` and resuming with several languages, on the built-in news."""

import csv
import json
import shutil

import numpy as np
import pytest
import torch
import yaml
from sklearn.metrics import precision_recall_fscore_support

import gile_lightning
from gile_lightning import evaluate, fit, low_resource, predict
from gile_lightning.commands import launcher
from gile_lightning.data import DW
from gile_testing import dw_runs, runs

LANGUAGES = ("english", "german")


@pytest.fixture(scope="module")
def run():
    return dw_runs.trained()


def data(**options):
    module = DW(builtin_documents=dw_runs.DOCUMENTS, cache_dir=runs.cache(), **options)
    module.prepare_data()
    module.setup()
    return module


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
    assert set(own["gile_lightning"]["languages"]) == {"german"}
    texts = tmp_path / "texts.jsonl"
    texts.write_text(json.dumps(raw("german")[0] | {"language": "en"}))
    arguments = ("--checkpoint", run.output / "checkpoints/best-german.ckpt", "--input", texts)
    done = runs.call(predict.main, *arguments)
    assert done.errors == f"error: {texts}:1: the model has no 'en'; its languages are german\n"
    arguments = dw_runs.arguments(tmp_path / "run", "--ckpt_path", arguments[1])
    assert "weights alone, not a run to go on with" in runs.call(fit.main, *arguments).errors


def scores_of(checkpoint, language, threshold):
    """Score the raw test articles through `predict`, and count with scikit-learn."""
    model = gile_lightning.load(checkpoint, language=language)
    names = model.task.labels.names
    probabilities, positives = [], []
    for article in raw(language):
        pieces = [article[key] for key in ("title", "teaser", "text") if article.get(key)]
        texts = model.task.tokenizer.split(pieces)
        words = model.task.tokenizer.word_ids(word for sentence in texts for word in sentence)
        batch = gile_lightning.data.Texts.from_flat(
            np.array(words, dtype=np.int32),
            np.array([len(s) for s in texts]),
            np.array([len(texts)]),
        )
        with torch.no_grad():
            probabilities.append(model._score(batch).sigmoid()[0].numpy())
        positives.append([name in article["general"] for name in names])
    predicted = np.stack(probabilities) > threshold
    scores = precision_recall_fscore_support(
        np.array(positives), predicted, average="micro", zero_division=0
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


def test_average_of_the_languages(run):
    for key in ("test.micro.f1", "test.seen.average_precision", "own_epoch.test.micro.recall"):
        mean = np.mean([run.metrics[f"{language}.{key}"] for language in LANGUAGES])
        assert run.metrics[key] == pytest.approx(mean)
    documents = sum(len(raw(language)) for language in LANGUAGES)
    assert run.metrics["test.micro.documents"] == documents


def test_table(run):
    lines = [line for line in run.printed.splitlines() if line.startswith((*LANGUAGES, "average"))]
    names = [f"{x}{y}" for y in ("", ", own epoch") for x in (*LANGUAGES, "average")]
    assert [line[: len(max(names, key=len))].strip() for line in lines if "  " in line] == names


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


def test_threshold_of_ones_own(run):
    done = runs.call(evaluate.main, "--checkpoint", run.output, "--model.threshold", "0.123")
    assert done.status is None, done.errors
    assert done.result["english.test.micro.threshold"] == 0.123
    expected = scores_of(run.best, "english", 0.123)
    assert done.result["english.test.micro.f1"] == pytest.approx(expected["f1"])


def test_evaluate_repeats_the_scores(run):
    done = runs.call(evaluate.main, "--checkpoint", run.output)
    assert done.status is None, done.errors
    for key, value in done.result.items():
        assert value == pytest.approx(run.metrics[key]), key


def test_evaluate_one_of_the_languages(run):
    done = runs.call(evaluate.main, "--checkpoint", run.output, "--data.languages", '["german"]')
    assert done.status is None, done.errors
    assert done.result["test.micro.f1"] == pytest.approx(run.metrics["german.test.micro.f1"])


def test_predict_needs_the_language(run, tmp_path):
    texts = tmp_path / "texts.jsonl"
    texts.write_text(json.dumps(raw("german")[0]))
    arguments = ("--checkpoint", run.output, "--input", texts)
    assert "choose one" in runs.call(predict.main, *arguments).errors
    done = runs.call(predict.main, *arguments, "--language", "german", "--top_k", 2)
    assert done.status is None, done.errors
    assert len(json.loads(done.printed)["labels"]) == 2


def test_predict_reads_the_language_of_each_record(run, tmp_path):
    """In any order, by name or code, and by --language where a record says nothing."""
    german, english = raw("german")[:3], raw("english")[:3]
    for article in (*german, *english):
        article.pop("language", None)
    records = [
        german[0] | {"language": "German"},
        english[0] | {"language": "en"},
        english[1],
        german[1] | {"language": "de"},
        english[2] | {"language": None},
    ]
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(json.dumps(record) + "\n" for record in records))
    arguments = ("--checkpoint", run.output, "--input", texts)
    done = runs.call(predict.main, *arguments, "--language", "english", "--batch_size", 4)
    assert done.status is None, done.errors
    found = [json.loads(line) for line in done.printed.splitlines()]
    assert [line["id"] for line in found] == [record["id"] for record in records]
    for line, record in zip(found, records, strict=True):
        language = "german" if record in (records[0], records[3]) else "english"
        pieces = [record[key] for key in ("title", "teaser", "text") if record.get(key)]
        (expected,) = gile_lightning.load(run.output, language=language).predict([pieces])
        assert [x["name"] for x in line["labels"]] == [x["name"] for x in expected]
        scores = [x["score"] for x in expected]
        assert [x["score"] for x in line["labels"]] == pytest.approx(scores, rel=1e-5)
    done = runs.call(predict.main, *arguments)
    assert f"{texts}:3: the model has several languages (english, german)" in done.errors
    texts.write_text(json.dumps(german[0] | {"language": "fr"}))
    done = runs.call(predict.main, *arguments)
    assert done.errors.startswith(f"error: {texts}:1: the model has no 'fr'; its languages are")


def test_predict_takes_the_columns_of_training(run, tmp_path):
    articles = raw("english")[:5]
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(json.dumps(article) + "\n" for article in articles))
    arguments = ("--checkpoint", run.output, "--input", texts, "--language", "english")
    done = runs.call(predict.main, *arguments)
    model = gile_lightning.load(run.output, language="english")
    pieces = [[a[k] for k in ("title", "teaser", "text") if a.get(k)] for a in articles]
    found = [json.loads(line)["labels"] for line in done.printed.splitlines()]
    expected = model.predict(pieces)
    assert found == expected != model.predict([article["text"] for article in articles])


def test_another_sharing_is_refused(run):
    arguments = ("--checkpoint", run.output, "--model.sharing", "both")
    done = runs.call(evaluate.main, *arguments)
    assert done.status == 2
    assert "set model.sharing as there" in done.errors


@pytest.mark.filterwarnings("ignore:The dirpath has changed")
def test_going_on_with_another_sharing_is_refused(run, tmp_path):
    shutil.copytree(run.output, tmp_path / "run")
    arguments = dw_runs.arguments(tmp_path / "run", "--ckpt_path", "last", epochs=3)
    done = runs.call(fit.main, *arguments, "--model.sharing", "none")
    assert done.status == 2
    assert "the optimizer's state is that of another model" in done.errors


def test_resumed_run_equals_an_unbroken_one(tmp_path):
    whole = dw_runs.trained("--data.samples_per_epoch", "90", "--checkpoint_every", "4")
    output = tmp_path / "run"
    more = ("--data.samples_per_epoch", 90, "--checkpoint_every", 4)
    crash = {"class_path": "gile_testing.crash.Crash", "init_args": {"step": 9}}
    with pytest.raises(RuntimeError, match="crash"):
        fit.main(dw_runs.arguments(output, *more, "--trainer.callbacks", json.dumps([crash])))
    done = runs.call(fit.main, *dw_runs.arguments(output, *more, "--ckpt_path", "last"))
    assert done.status is None, done.errors
    found = json.loads((output / "metrics.json").read_text())
    assert runs.reproducible(found) == runs.reproducible(whole.metrics)


def test_channels_and_memories_of_each_language():
    """Each has its own; the scores come back from the checkpoint."""
    run = dw_runs.trained(*runs.MATCHING, epochs=1)
    parts = torch.load(run.best, weights_only=True)["state_dict"]
    languages = {key.split(".")[1] for key in parts if ".label_residual." in key}
    assert languages == {key.split(".")[1] for key in parts if ".matchers." in key}
    assert languages == set(LANGUAGES)
    done = runs.call(evaluate.main, "--checkpoint", run.output)
    assert done.status is None, done.errors
    for key, value in done.result.items():
        assert value == pytest.approx(run.metrics[key]), key


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


def test_start_from_needs_a_language_of_the_model(run, tmp_path):
    done = runs.call(
        fit.main,
        *("--start_from", run.output, "--output", tmp_path / "x"),
        *("--data.languages", '["spanish"]'),
    )
    assert done.status == 2
    assert "the model knows english, german, not spanish" in done.errors


# --- low resource ---


def test_low_resource(tmp_path, monkeypatch):
    stand_in = """if True:
        import json, sys
        args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
        assert args["--model.threshold"] == "0.3"
        share = json.loads(args["--data.train_share"])["german"]
        scores = {"test.micro.f1": 0.0, "german.own_epoch.test.micro.f1": share}
        open(f"{args['--output']}/metrics.json", "w").write(json.dumps(scores))
    """
    monkeypatch.setattr(low_resource, "PROGRAM", ("-c", stand_in))
    monkeypatch.setattr(launcher, "_PAUSE", 0.01)
    arguments = ("--config", dw_runs.CONFIG, "--language", "german", "--output", tmp_path)
    done = runs.call(low_resource.main, *arguments)
    assert done.result["mean"] == pytest.approx({"tiny": 0.003, "small": 0.03, "medium": 0.3})
    assert len(list(tmp_path.glob("share-*/log.txt"))) == 15
    assert "small" in done.printed
    (tmp_path / "share-0.03/metrics.json").unlink()
    again = runs.call(low_resource.main, *arguments)
    assert again.result == done.result
    assert again.printed.count("log.txt") == 1  # what is done is not repeated
    (tmp_path / "share-0.03/metrics.json").unlink()
    monkeypatch.setattr(low_resource, "PROGRAM", ("-c", "raise SystemExit('no memory')"))
    failed = runs.call(low_resource.main, *arguments)
    assert failed.status == 1
    assert "no memory" in failed.printed
    refused = runs.call(low_resource.main, *arguments, "--levels", "smal")
    assert "did you mean 'small'" in refused.errors
    refused = runs.call(low_resource.main, *arguments[:2], "--language", "germn", *arguments[4:])
    assert "did you mean 'german'" in refused.errors
    single = runs.call(low_resource.main, "--data", "BioASQ", *arguments[2:])
    assert single.status == 2
    assert single.errors.startswith("error: BioASQ is a corpus of one language; ")
    refused = runs.call(low_resource.main, *arguments, "--model.sharing", "both")
    assert "holds the runs of other arguments" in refused.errors


def test_low_resource_run(tmp_path):
    arguments = dw_runs.arguments(None, "--data.languages", '["german"]', epochs=1)
    done = runs.call(
        low_resource.main,
        *arguments,
        *("--language", "german", "--output", tmp_path / "low", "--levels", "medium"),
    )
    assert done.status is None, done.errors
    metrics = json.loads((tmp_path / "low/share-0.5/metrics.json").read_text())
    assert metrics["test.micro.threshold"] == 0.3
    assert metrics["test.micro.f1"] == done.result["f1"]["0.5"]
    for share in (0.1, 0.5):
        config = yaml.safe_load((tmp_path / f"low/share-{share}/config.yaml").read_text())
        assert config["data"]["init_args"]["train_share"] == {"german": share}
