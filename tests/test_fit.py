import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
import wandb
import yaml

import gile_lightning
from gile_lightning import evaluate, fit, predict
from gile_lightning.metrics.table import BOTH, validated
from gile_testing import runs

BASELINES = ("AiTextML", "OneVersusRest", "Popularity", "TfidfCosine")
TWO = ("--trainer.devices", 2, "--trainer.strategy", "ddp")


@pytest.fixture(scope="module")
def run():
    return runs.trained()


def refused(*args) -> str:
    """Run `fit`, which must leave with status 2 and the error first; return that line."""
    done = runs.call(fit.main, *args)
    assert done.status == 2
    assert done.errors.startswith("error: ")
    return done.errors.splitlines()[0]


def state(path: Path) -> dict[str, torch.Tensor]:
    return torch.load(path, weights_only=True)["state_dict"]


# --- the run folder ---


def test_run_folder(run):
    files = {str(f.relative_to(run.output)) for f in run.output.rglob("*") if f.is_file()}
    checkpoints = {"checkpoints/best.ckpt", "checkpoints/last.ckpt"}
    tables = {"metrics.csv", "metrics.json", "skipped.json"}
    others = {"config.yaml", "report.html", "documents.npz", ".running"}
    assert files == others | tables | checkpoints


def test_what_documents_contribute_adds_up_to_the_figures(run):
    with np.load(run.output / "documents.npz") as arrays:
        found = dict(arrays)
    assert len(found.pop("documents")) == run.metrics["test.micro.documents"]
    assert {"test.seen.average_precision", "test.unseen.ranking_loss", "test.micro.f1"} < {*found}
    for key, terms in found.items():
        value, count = terms.astype(float).sum(0)
        assert value / count == pytest.approx(run.metrics[key], abs=1e-7)


def test_the_page_explains_three_right_and_three_wrong_predictions(run):
    """Of the wrong ones the best gold label, too."""
    page = (run.output / "report.html").read_text()
    assert page.count('<article class="explained">') == 6
    assert (page.count("✓ a label of"), page.count("✗ no label of")) == (6, 3)


def test_history_has_a_row_per_epoch_of_which_the_best_is_kept(run):
    rows = list(csv.DictReader((run.output / "metrics.csv").read_text().splitlines()))
    trained = round(0.9 * sum(int(a["year"]) < 2005 for a in runs.articles()))
    steps = -(-trained // runs.DATA["batch_size"])
    assert [(int(row["epoch"]), int(row["step"])) for row in rows] == [(0, steps), (1, 2 * steps)]
    assert run.metrics["epochs"] == len(rows)
    best = max(rows, key=lambda row: float(row["val/average_precision"]))
    assert run.metrics["best_epoch"] == int(best["epoch"])
    for name in validated():
        assert run.metrics[f"val.{name}"] == float(best[f"val/{name}"])


def test_test_metrics_are_scikit_learns(run):
    predictor = gile_lightning.load(run.best)
    names, seen = predictor.task.labels.names, predictor.task.labels.seen
    tested = [a for a in runs.articles() if int(a["year"]) >= 2005 and {*a["meshMajor"]} & {*names}]
    logits = predictor.logits([runs.text(article) for article in tested]).numpy()
    targets = runs.positives([article["meshMajor"] for article in tested], names)
    popularity = torch.arange(len(names), 0, -1).expand(len(tested), -1).numpy()
    expected = {
        "test.seen": runs.ranking_scores(logits[:, :seen], targets[:, :seen]),
        "test.unseen": runs.ranking_scores(logits[:, seen:], targets[:, seen:]),
        "test.all": runs.ranking_scores(logits, targets),
        "reference.seen.by_popularity": runs.ranking_scores(
            popularity[:, :seen], targets[:, :seen]
        ),
    }
    for name, scores in expected.items():
        for key, score in scores.items():
            assert run.metrics[f"{name}.{key}"] == pytest.approx(score, abs=1e-6), (name, key)


# --- repeating a run ---


def test_the_stored_configuration_repeats_the_run(run, tmp_path):
    config, output = run.output / "config.yaml", tmp_path / "again"
    again = fit.main(["--config", str(config), "--output", str(output)])
    assert runs.reproducible(again) == runs.reproducible(run.metrics)
    for name in ("best", "last"):
        weights, weights2 = (state(o / f"checkpoints/{name}.ckpt") for o in (run.output, output))
        assert weights.keys() == weights2.keys()
        assert all(torch.equal(weights[key], weights2[key]) for key in weights)
    assert config.read_text() == (output / "config.yaml").read_text()


@pytest.mark.parametrize(
    ("system", "more", "error"),
    [
        *[(name, TWO, "is trained by one process, not 2: set tr") for name in BASELINES],
        ("AiTextML", ("--trainer.gradient_clip_val", 1), "follows no gradients that could be"),
    ],
)
def test_what_a_system_cannot_do_is_refused_before_encoding(system, more, error, tmp_path):
    options = ("--model", f"gile_lightning.systems.baselines.{system}", *more)
    options += ("--trainer.accelerator", "cpu", "--data.cache_dir", tmp_path / "cache")
    done = runs.call(fit.main, "--config", runs.CONFIG, *options, "--output", tmp_path / "run")
    assert done.status == 2
    assert f"{system} {error}" in done.errors
    assert not list(tmp_path.iterdir())


def test_epochs_without_an_end_are_not_replaced_by_a_length(tmp_path):
    options = ("--trainer.max_epochs", -1, "--trainer.accelerator", "cpu", "--output", tmp_path)
    assert "model.schedule has no end" in refused("--config", "best_scratch", *options)


def test_batches_grow_with_the_corpus(run, tmp_path):  # after a run, which writes the corpus
    train = round(0.9 * sum(int(a["year"]) < 2005 for a in runs.articles()))
    assert 4 * 50 <= train < 16 * 50  # so twice as large
    larger = ("--length.documents", 50)
    smaller = (*larger, "--length.larger_batches", "false", "--test", "false")
    runs.call(fit.main, *runs.arguments(tmp_path / "smaller", *smaller, epochs=1))
    last = torch.load(tmp_path / "smaller/checkpoints/last.ckpt", weights_only=True)
    assert last["global_step"] == -(-train // 32)
    for epochs, more in ((2, ()), (3, ("--ckpt_path", "last"))):
        done = runs.call(fit.main, *runs.arguments(tmp_path, *larger, *more, epochs=epochs))
        assert done.status is None, done.errors
        assert "batches of 64 documents, 2 times data.batch_size" in done.printed + done.errors
        last = torch.load(tmp_path / "checkpoints/last.ckpt", weights_only=True)
        assert last["global_step"] == epochs * -(-train // 64)


def test_a_run_that_goes_on_elsewhere_is_one_of_its_own(run, tmp_path):
    """It has its configuration, so it can go on in turn, and is not overwritten."""
    output, last = tmp_path / "more", run.output / "checkpoints/last.ckpt"
    lower = ("--model.optimizer.lr", 0.00004)
    done = runs.call(fit.main, *runs.arguments(output, "--ckpt_path", last, *lower, epochs=3))
    assert done.status is None, done.errors
    assert "learning rate 4e-05 in place of the checkpoint's 0.01" in done.printed
    assert (output / "ckpt_path.txt").read_text() == f"{last}\n"
    stored = yaml.safe_load((output / "config.yaml").read_text())
    assert stored["model"]["init_args"]["optimizer"]["init_args"]["lr"] == 0.00004
    # and it has learned with this rate
    groups = torch.load(output / "checkpoints/last.ckpt", weights_only=True)["optimizer_states"]
    assert [group["lr"] for group in groups[0]["param_groups"]] == [0.00004]
    assert "holds a run already" in refused(*runs.arguments(output))


def test_an_output_that_was_used_is_refused(run):
    before = (run.output / "metrics.json").read_bytes()
    error = refused(*runs.arguments(run.output))
    assert str(run.output) in error
    assert "--ckpt_path last" in error
    assert (run.output / "metrics.json").read_bytes() == before


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("limit_val_batches", 0, "must be above 0: trainer.limit_val_batches is 0"),
        ("limit_val_batches", 0.001, "Please increase the `limit_val_batches` argument"),
        ("val_check_interval", 1000, "must be less than or equal to the number of the training"),
    ],
)
def test_limits_that_leave_no_validation_are_refused(key, value, error, tmp_path):
    done = runs.call(fit.main, *runs.arguments(tmp_path / "run", f"--trainer.{key}", value))
    assert done.status == 2
    last = done.errors.splitlines()[-1]  # encoding may have shown its progress before
    assert last.startswith("error: ")
    assert error in last


def test_nothing_to_go_on_with(tmp_path):
    error = refused(*runs.arguments(tmp_path, "--ckpt_path", "last"))
    assert error == f"error: {tmp_path}: no run there to go on with (--ckpt_path last)"
    missing = refused(*runs.arguments(tmp_path, "--ckpt_path", tmp_path / "missing.ckpt"))
    assert str(tmp_path / "missing.ckpt") in missing


@pytest.mark.parametrize(("steps", "epochs"), [(2, 1), (9, 2)])
def test_the_last_step_is_validated_also_within_an_epoch(steps, epochs):
    given = ("--trainer.max_steps", steps, "--trainer.max_epochs", -1)
    done = runs.finished(lambda output: runs.arguments(output, *given))
    rows = [*csv.DictReader((done.output / "metrics.csv").read_text().splitlines())]
    assert len(rows) == done.metrics["epochs"] == epochs
    best = torch.load(done.best, weights_only=True)
    assert best["global_step"] == steps
    assert best["epoch"] == done.metrics["best_epoch"] == epochs - 1
    score = float(rows[-1]["val/average_precision"])
    assert done.metrics["val.average_precision"] == pytest.approx(score)


@pytest.mark.parametrize(
    "more",
    [
        ("--trainer.min_epochs", 3),
        ("--trainer.min_steps", 20),
        ("--trainer.check_val_every_n_epoch", 2),
    ],
)
def test_the_last_step_is_validated_whatever_else_would_go_on(more):
    given = ("--trainer.max_steps", 2, "--trainer.max_epochs", -1, *more)
    done = runs.finished(lambda output: runs.arguments(output, *given))
    best = torch.load(done.best, weights_only=True)
    assert (best["global_step"], best["epoch"], done.metrics["best_epoch"]) == (2, 0, 0)
    assert "val.average_precision" in done.metrics


def test_a_system_of_one_pass_is_fitted_at_the_last_step():
    config, keys = Path(__file__).parents[1] / "sweeps/tfidf.yaml", {"data.builtin_documents": 400}
    figures = [
        runs.finished(
            lambda output, more=more: runs.small(config, output, dict(keys), more)
        ).metrics
        for more in ((), ("--trainer.max_steps", 2))
    ]
    assert runs.reproducible(figures[0]) == runs.reproducible(figures[1])


def test_processes_that_would_draw_other_weights_are_refused(tmp_path):
    several = ("--trainer.accelerator", "cpu", "--trainer.devices", 2, "--trainer.strategy", "ddp")
    error = refused(*runs.arguments(tmp_path, *several, "--seed_everything", "false"))
    assert "seed_everything is false, so each process would draw other weights" in error


def test_no_epoch_tests_the_model_as_it_is(tmp_path):
    metrics = fit.main(runs.arguments(tmp_path / "run", epochs=0))
    assert metrics["epochs"] == 0
    assert 0.3 < metrics["test.unseen.ranking_loss"] < 0.7  # random vectors


def test_all_documents_can_train(tmp_path):
    everything = ("--data.split_year", "null", "--data.test_size", "0")
    done = runs.call(fit.main, *runs.arguments(tmp_path / "run", *everything, epochs=1))
    assert done.status is None, done.errors
    assert "no test documents: score the model on others" in done.printed
    assert not [key for key in done.result if key.startswith("test.")]
    assert (tmp_path / "run/report.html").is_file()
    itself = runs.call(evaluate.main, "--checkpoint", tmp_path / "run")
    assert "trained on all its documents (test_size 0)" in itself.errors

    def score_on(documents):
        others = ("--data.builtin_documents", documents, "--data.cache_dir", tmp_path)
        return runs.call(evaluate.main, "--checkpoint", tmp_path / "run", *others)

    assert "50 do not test, as they trained the model: give others" in score_on(50).errors
    assert score_on(runs.DOCUMENTS + 100).result["test.all.documents"] == 100


# --- the command line ---


@pytest.mark.parametrize("path", sorted(runs.CONFIG.parent.glob("*.yaml")), ids=lambda p: p.stem)
def test_every_shipped_configuration_parses(path):
    shipped = yaml.safe_load(path.read_text())
    shipped.pop("base", None)  # of the file, no key of a run
    below = () if "data" in shipped else ("--config", runs.CONFIG)  # one that is laid over others
    done = runs.call(fit.main, *below, "--config", path, "--print_config")
    assert done.status == 0
    printed = yaml.safe_load(done.printed)
    assert set(shipped) <= set(printed)
    for key, value in shipped.get("data", {}).get("init_args", {}).items():
        assert printed["data"]["init_args"][key] == value


@pytest.mark.parametrize("model", ["best", "best_fast", "best_scratch"])
def test_large_is_laid_over_every_model_to_pick(model):
    done = runs.call(fit.main, "--config", model, "--config", "large", "--print_config")
    printed = yaml.safe_load(done.printed)["model"]["init_args"]
    embedding = printed["embedding"]["init_args"]
    assert (embedding["trainable"], embedding["dim"]) == (True, 500)
    assert embedding["start"]["class_path"].endswith("LSA")
    assert printed["ridge"] is None
    assert len(printed["matchers"]) > 1


def test_the_learning_curves_lay_it_over_as_the_file_does():
    large = yaml.safe_load(runs.CONFIG.with_name("large.yaml").read_text())["model"]
    grid = yaml.safe_load((runs.CONFIG.parent / "tables/scale_invented.yaml").read_text())
    row = next(row for row in grid["rows"] if row["name"].endswith("with large.yaml"))
    assert row["set"] == {
        "model.embedding.trainable": large.pop("embedding")["init_args"].pop("trainable"),
        "model.ridge": large.pop("ridge"),
    }
    assert not large


# --- other parts, by override ---


def test_linear_output_layer(tmp_path):
    run = runs.trained(*runs.LINEAR)
    assert {key for key in run.metrics if "unseen" in key or ".all." in key} == {f"val.{BOTH}"}
    assert run.metrics[f"val.{BOTH}"] == run.metrics["val.average_precision"]  # of seen labels
    assert "unseen" not in run.printed[run.printed.index("\nlabels ") :]
    predictor = gile_lightning.load(run.best)
    assert len(predictor.predict(["a text"], top_k=None)[0]) == predictor.task.labels.seen
    (tmp_path / "new.jsonl").write_text('{"name": "new", "description": "a new one"}\n')
    (tmp_path / "in.txt").write_text("a text\n")
    given = ("--checkpoint", run.output, "--input", tmp_path / "in.txt")
    done = runs.call(predict.main, *given, "--labels", tmp_path / "new.jsonl")
    assert done.status == 2
    assert "gile_lightning.network.outputs.GILE" in done.errors


# --- when training fails ---


def test_divergence_is_a_clear_error(run, tmp_path):  # after a run, which writes the corpus
    error = refused(*runs.arguments(tmp_path / "run", "--model.optimizer.lr", "1e30"))
    assert "training diverged; lower the learning rate (model.optimizer)" in error


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--data.path", "/no/where"), "/no/where: no such folder (--data.path)"),
        (("--data", "Corpus"), "no documents: set --data.path"),
    ],
)
def test_no_data(options, error, tmp_path):
    assert refused(*runs.arguments(tmp_path / "run", *options)) == f"error: {error}"
    assert not (tmp_path / "run").exists()


def test_the_tracker_is_closed_whatever_happens(monkeypatch, tmp_path):
    finished = []

    def fail(cli):
        raise RuntimeError("no luck")

    monkeypatch.setattr(fit, "fit", fail)
    monkeypatch.setattr(wandb, "finish", lambda: finished.append(1))
    with pytest.raises(RuntimeError):
        fit.main(runs.arguments(tmp_path / "run"))
    assert finished == [1]


def test_an_interrupted_run_says_how_to_go_on(tmp_path):
    interrupt = {"class_path": "gile_testing.runs.Interrupt"}
    output = tmp_path / "run"
    done = runs.call(
        fit.main, *runs.arguments(output, "--trainer.callbacks", json.dumps([interrupt]))
    )
    assert done.status == 130
    again = f"--output {output} --ckpt_path last"
    assert f"interrupted; no checkpoint yet, so begin again with {again}" in done.errors
    assert not (output / "metrics.json").exists()
