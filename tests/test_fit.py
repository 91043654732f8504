import csv
import json
import sys
from pathlib import Path

import pytest
import torch
import wandb
import yaml

import gile_lightning
from gile_lightning import evaluate, fit, predict
from gile_lightning.common.errors import InputError
from gile_lightning.metrics.table import BOTH, POPULARITY, UNSEEN, validated
from gile_testing import runs

SCORES = ("ranking_loss", "average_precision", "one_error", "precision_at_1", "precision_at_5")
AT = [f"{kind}_at_{k}" for kind in ("precision", "recall", "ndcg", "psp") for k in (1, 3, 5)]
RANKED = (*SCORES[:3], *AT, "coverage_at_5")
COUNTS = ("documents", "skipped")
F1 = ("threshold", "precision", "recall", "f1")
MICRO = ("documents", "labels", *F1, *(f"tuned_{key}" for key in F1))
SETS = ("test.seen", "test.unseen", "test.all")
BUCKETS = ("test.frequency_1_to_5", "test.frequency_6_to_50")  # no label has more than 50
REFERENCES = ("reference.seen.by_popularity", "reference.unseen.at_random")
FIGURES = ("parameters", "seconds", "documents_per_second", "epochs", "best_epoch")


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
    assert files == {"config.yaml", "report.html"} | tables | checkpoints


def test_keys_of_the_metrics(run):
    sets = SETS + BUCKETS
    ranked = {f"{name}.{key}" for name in sets + REFERENCES for key in RANKED + COUNTS}
    ranked |= {f"{name}.macro_f1" for name in sets}
    micro = {f"test.micro.{key}" for key in MICRO}
    popularity = {f"popularity_{name}" for name in POPULARITY}
    kept = {f"val.{name}" for name in (*validated(), UNSEEN, *popularity)}
    assert set(run.metrics) == ranked | micro | kept | set(FIGURES)


def test_validation_scores_are_those_of_the_kept_checkpoint(run):
    with (run.output / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    best = max(rows, key=lambda row: float(row["val/average_precision"]))
    assert run.metrics["best_epoch"] == int(best["epoch"])
    for name in validated():
        assert run.metrics[f"val.{name}"] == float(best[f"val/{name}"])


def test_scores_are_fractions(run):
    tested = {key: x for key, x in run.metrics.items() if not key.startswith("val.")}
    scores = [value for key, value in tested.items() if key.split(".")[-1] in RANKED]
    assert len(scores) == 7 * len(RANKED)
    assert all(0 <= score <= 1 for score in scores)
    for name in SETS:
        hit, miss = (run.metrics[f"{name}.{key}"] for key in ("precision_at_1", "one_error"))
        assert hit + miss == pytest.approx(1)


def test_parameters_are_those_of_the_checkpoint(run):
    assert run.metrics["parameters"] == sum(w.numel() for w in state(run.best).values())


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


def test_history_has_a_row_per_epoch(run):
    rows = list(csv.DictReader((run.output / "metrics.csv").read_text().splitlines()))
    trained = round(0.9 * sum(int(a["year"]) < 2005 for a in runs.articles()))
    steps = -(-trained // runs.DATA["batch_size"])
    assert [(row["epoch"], row["step"]) for row in rows] == [
        ("0", str(steps)),
        ("1", str(2 * steps)),
    ]
    assert set(rows[0]) == {
        *("epoch", "step", "train/data_wait", "train/documents_per_second", "train/loss"),
        *(f"val/popularity_{key}" for key in POPULARITY),
        *(f"val/{key}" for key in (*validated(), UNSEEN)),
    }
    assert run.metrics["epochs"] == len(rows)


def test_skipped_counts(run):
    skipped = json.loads((run.output / "skipped.json").read_text())
    described = set(gile_lightning.load(run.best).task.labels.names)
    assignments = [label for article in runs.articles() for label in article["meshMajor"]]
    missing = sum(label not in described for label in assignments)
    assert skipped["label assignments without a description"]["count"] == missing


def test_console(run):
    lines = run.printed.splitlines()
    assert "built-in corpus" in lines[0]
    assert "say nothing about real ones" in lines[0]
    assert sum(line.startswith("left out: ") for line in lines) == 4
    assert f"parameters in all: {run.metrics['parameters']:,}" in lines
    start = next(i for i, line in enumerate(lines) if line.startswith("labels "))
    rows = {line[:22].strip(): line[22:].split() for line in lines[start + 2 : start + 7]}
    assert list(rows) == ["seen", "seen, by popularity", "unseen", "unseen, at random", "all"]
    for name in ("seen", "unseen", "all"):
        keys = (*SCORES, "ndcg_at_5", "psp_at_5")
        scores = [f"{100 * run.metrics[f'test.{name}.{key}']:.2f}" for key in keys]
        assert rows[name] == [str(run.metrics[f"test.{name}.documents"]), *scores]
    assert f"run folder: {run.output}" in lines


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


def test_another_seed_is_another_run(run, tmp_path):
    other = fit.main(runs.arguments(tmp_path / "run", "--seed_everything", "7"))
    assert other["test.all.documents"] == run.metrics["test.all.documents"]
    assert other["test.seen.ranking_loss"] != run.metrics["test.seen.ranking_loss"]


@pytest.mark.parametrize("system", ["AiTextML", "OneVersusRest", "Popularity", "TfidfCosine"])
@pytest.mark.parametrize(
    ("more", "error"),
    [
        (
            ("--trainer.devices", 2, "--trainer.strategy", "ddp"),
            "is trained by one process, not 2: set trainer.devices",
        ),
        (("--trainer.gradient_clip_val", 1), "follows no gradients that could be clipped"),
    ],
)
def test_what_a_system_cannot_do_is_refused_before_encoding(system, more, error, tmp_path):
    options = ("--model", f"gile_lightning.systems.baselines.{system}", *more)
    options += ("--trainer.accelerator", "cpu", "--data.cache_dir", tmp_path / "cache")
    config = ("--config", runs.CONFIG.parent / "bioasq.yaml")
    done = runs.call(fit.main, *config, *options, "--output", tmp_path / "run")
    assert done.status == 2
    assert f"{system} {error}" in done.errors
    assert not list(tmp_path.iterdir())


def test_an_output_that_was_used_is_refused(run):
    before = (run.output / "metrics.json").read_bytes()
    error = refused(*runs.arguments(run.output))
    assert str(run.output) in error
    assert "--ckpt_path last" in error
    assert (run.output / "metrics.json").read_bytes() == before


def test_nothing_to_go_on_with(tmp_path):
    error = refused(*runs.arguments(tmp_path, "--ckpt_path", "last"))
    assert error == f"error: {tmp_path}: no run there to go on with (--ckpt_path last)"
    missing = refused(*runs.arguments(tmp_path, "--ckpt_path", tmp_path / "missing.ckpt"))
    assert str(tmp_path / "missing.ckpt") in missing


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
    assert {"config.yaml", "metrics.json", "report.html"} <= {
        file.name for file in (tmp_path / "run").iterdir()
    }
    assert len(gile_lightning.load(tmp_path / "run").predict(["A trial of mice."], top_k=3)[0]) == 3
    itself = runs.call(evaluate.main, "--checkpoint", tmp_path / "run")
    assert "trained on all its documents (test_size 0)" in itself.errors
    others = ("--data.builtin_documents", "50", "--data.cache_dir", tmp_path)
    others = runs.call(evaluate.main, "--checkpoint", tmp_path / "run", *others)
    assert others.result["test.all.documents"] > 40


# --- the command line ---


@pytest.mark.parametrize("path", sorted(runs.CONFIG.parent.glob("*.yaml")), ids=lambda p: p.stem)
def test_every_shipped_configuration_parses(path):
    shipped = yaml.safe_load(path.read_text())
    below = () if "data" in shipped else ("--config", runs.CONFIG)  # one that is laid over others
    done = runs.call(fit.main, *below, "--config", path, "--print_config")
    assert done.status == 0
    printed = yaml.safe_load(done.printed)
    assert set(shipped) <= set(printed)
    for key, value in shipped.get("data", {}).get("init_args", {}).items():
        assert printed["data"]["init_args"][key] == value


def test_the_printed_configuration_can_be_used(tmp_path):
    printed = runs.call(fit.main, *runs.arguments(None), "--print_config").printed
    (tmp_path / "printed.yaml").write_text(printed)
    again = runs.call(fit.main, "--config", tmp_path / "printed.yaml", "--print_config")
    assert again.status == 0
    assert yaml.safe_load(again.printed) == yaml.safe_load(printed)


def test_help():
    done = runs.call(fit.main, "--help")
    assert done.status == 0
    assert fit.DESCRIPTION[:60] in " ".join(done.printed.split())
    for key in ("--output", "--ckpt_path", "--model", "--data", "--early_stopping.plateau"):
        assert f"{key} " in done.printed


def test_arguments_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fit", "--config", str(runs.CONFIG), "--print_config"])
    with pytest.raises(SystemExit) as stop:
        fit.main()
    assert not stop.value.code
    assert (
        yaml.safe_load(capsys.readouterr().out)["model"]["init_args"]["output"]["init_args"][
            "joint_dim"
        ]
        == 500
    )


# --- other parts, by override ---


@pytest.mark.parametrize(
    "options",
    [
        ("--model.encoder.pooling", "gile_lightning.network.encoders.SumPooling"),
        ("--model.sampler", "gile_lightning.training.samplers.AllLabels"),
        ("--model.sampler", "gile_lightning.training.samplers.SharedUniformLabels"),
        ("--model.norm", "torch.nn.Identity"),
        ("--model.output.joint_dim", "matched"),
        ("--model.sampler", "gile_lightning.training.samplers.PopularLabels"),
        (
            *("--model.sampler", "gile_lightning.training.samplers.HardLabels"),
            *("--model.sampler.pool", "gile_lightning.training.samplers.SharedUniformLabels"),
            *("--model.sampler.pool.rate", "0.2"),
        ),
        (
            "--model.loss",
            "gile_lightning.training.losses.SoftmaxCrossEntropy",
            "--model.output.layers",
            "2",
        ),
        ("--model.embedding.start", "gile_lightning.network.encoders.PPMI"),
        ("--model.embedding.start", "gile_lightning.network.encoders.LSA"),
        ("--model.label_encoder", "gile_lightning.network.encoders.IdfMean"),
    ],
    ids=lambda options: options[1].split(".")[-1],
)
def test_other_parts(options, tmp_path):
    metrics = fit.main(runs.arguments(tmp_path / "run", *options, epochs=1))
    assert {f"{name}.average_precision" for name in SETS} < set(metrics)
    config = yaml.safe_load((tmp_path / "run/config.yaml").read_text())
    assert options[1] in json.dumps(config["model"])
    texts = ["Liver disease in mice.", "Growth of bacteria"]
    assert len(gile_lightning.load(tmp_path / "run").predict(texts, top_k=3)[1]) == 3


def test_released_treatment_of_documents_without_a_positive(run, tmp_path):
    given = ("--model.without_positive", "released")
    metrics = fit.main(runs.arguments(tmp_path / "run", *given))
    for name in SETS:
        counted, skipped = (run.metrics[f"{name}.{key}"] for key in COUNTS)
        everyone = counted + skipped
        assert metrics[f"{name}.documents"] == everyone
        for key, stand_in in (("ranking_loss", 0), ("average_precision", 1), ("one_error", 1)):
            mean = (run.metrics[f"{name}.{key}"] * counted + stand_in * skipped) / everyone
            assert metrics[f"{name}.{key}"] == pytest.approx(mean)


def test_linear_output_layer(tmp_path):
    run = runs.trained(*runs.LINEAR)
    kinds = {key for key in run.metrics if "unseen" in key or ".all." in key}
    assert kinds == {f"val.{BOTH}"}  # that of the seen labels
    assert run.metrics[f"val.{BOTH}"] == run.metrics["val.average_precision"]
    assert {f"test.seen.{key}" for key in SCORES + COUNTS} < set(run.metrics)
    assert "unseen" not in run.printed[run.printed.index("\nlabels ") :]
    predictor = gile_lightning.load(run.best)
    labels = predictor.task.labels
    assert len(predictor.predict(["a text"], top_k=None)[0]) == labels.seen
    (tmp_path / "new.jsonl").write_text('{"name": "new", "description": "a new one"}\n')
    (tmp_path / "in.txt").write_text("a text\n")
    given = ("--checkpoint", run.output, "--input", tmp_path / "in.txt")
    done = runs.call(predict.main, *given, "--labels", tmp_path / "new.jsonl")
    assert done.status == 2
    assert "Linear" in done.errors
    assert "gile_lightning.network.outputs.GILE" in done.errors


# --- when training fails ---


def test_divergence_is_a_clear_error(tmp_path):
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


@pytest.mark.parametrize("error", [RuntimeError, InputError])
def test_the_tracker_is_closed_whatever_happens(error, monkeypatch, tmp_path):
    finished = []

    def fail(cli):
        raise error("no luck")

    monkeypatch.setattr(fit, "fit", fail)
    monkeypatch.setattr(wandb, "finish", lambda: finished.append(1))
    with pytest.raises((RuntimeError, SystemExit)):
        fit.main(runs.arguments(tmp_path / "run"))
    assert finished == [1]


def test_an_interrupted_run_says_how_to_go_on(tmp_path):
    interrupt = {"class_path": "gile_testing.runs.Interrupt"}
    output = tmp_path / "run"
    done = runs.call(
        fit.main, *runs.arguments(output, "--trainer.callbacks", json.dumps([interrupt]))
    )
    assert done.status
    assert f"interrupted; go on with --output {output} --ckpt_path last" in done.printed
    assert not (output / "metrics.json").exists()
