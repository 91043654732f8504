"""The command `sweep`: studies of real fits, small ones."""

import csv
import json
from pathlib import Path

import optuna
import pytest
import torch
import yaml
from lightning.pytorch.callbacks import Callback
from optuna.trial import TrialState

from gile_lightning import fit, sweep
from gile_lightning.commands import launcher
from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.search.storage import open_storage
from gile_testing import children, offline, runs

pytestmark = [
    pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the plots
]

DIM = "model.output.joint_dim"
SPACE = {
    DIM: {"type": "int", "low": 8, "high": 40, "log": True},
    "model.sampler.rate": {"type": "float", "low": 0.01, "high": 1.0, "log": True},
}


class Note(Callback):
    """Writes down what a process trains, for the test to compare."""

    def on_fit_start(self, trainer, module) -> None:
        rate = module.hparams["sampler"]["init_args"]["rate"]
        note = json.dumps([module.hparams["output"]["init_args"]["joint_dim"], rate])
        (Path(trainer.default_root_dir) / f"rank-{trainer.global_rank}").open("a").write(
            f"{note}\n"
        )


class Greedy(Callback):
    """Takes more memory than there is, with large joint spaces."""

    def on_train_start(self, trainer, module) -> None:
        if module.hparams["output"]["init_args"]["joint_dim"] > 30:
            torch.empty(2**60)


def configuration(folder, **section):
    """Write a sweep section to lay over the configuration."""
    path = folder / "sweep.yaml"
    path.write_text(yaml.safe_dump({"sweep": {"study": "small", "space": SPACE} | section}))
    return ("--config", path)


def arguments(folder, *more, epochs=2, **section):
    """Return the arguments of a study of few documents in a folder."""
    more = (*configuration(folder, **section), "--data.builtin_documents", 120, *more)
    return runs.arguments(folder / "study", *more, epochs=epochs)


def command(folder, *more, epochs=2, **section):
    """Run the command in a process of its own; returns what it printed."""
    args = arguments(folder, *more, epochs=epochs, **section)
    variables = children.environment(WANDB_MODE="offline")
    program = (folder / "log.txt", "gile_lightning.sweep", *args)
    with children.forked(*program, folder=folder, variables=variables) as process:
        status = process.wait(600)
    printed = (folder / "log.txt").read_text()
    assert status == 0, printed[-6000:]
    return printed


def stored(folder):
    url = f"sqlite:///{folder / 'study/study.db'}"
    return optuna.load_study(study_name="small", storage=open_storage(url))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A study of all three choices, one of which is too large."""
    folder = tmp_path_factory.mktemp("sweep")
    callback = json.dumps([{"class_path": "test_sweep.Greedy"}])
    more = ("--trainer.callbacks", callback, "--trainer.logger", "true", "--jobs", 2)
    return folder, command(folder, *more, test=True, **CHOICES)


CHOICES = {
    "space": {DIM: {"choices": [20, 30, 40]}, "model.sampler.rate": {"choices": [0.003]}},
    "sampler": {"class_path": "optuna.samplers.BruteForceSampler"},
    "trials": 3,
}


def test_a_study_has_its_trials(first):
    folder, printed = first
    trials = stored(folder).trials
    assert sorted(trial.params[DIM] for trial in trials) == [20, 30, 40]
    assert trials[0].params[DIM] == 30  # the configuration's own
    for trial in trials:
        large = trial.params[DIM] > 30
        assert trial.state == (TrialState.FAIL if large else TrialState.COMPLETE)
        if large:
            assert trial.user_attrs["outcome"].startswith("failed: out of memory: ")
            assert "can't allocate memory" in trial.user_attrs["log_tail"]
    assert "[3/3] trial" in printed
    assert "failed: out of memory" in printed


def test_values_are_those_of_the_kept_checkpoint(first):
    folder, _ = first
    for trial in stored(folder).get_trials(states=(TrialState.COMPLETE,)):
        run = folder / f"study/trials/{trial.number:04d}"
        with (run / "metrics.csv").open() as file:
            column = [float(row["val/average_precision"]) for row in csv.DictReader(file)]
        assert trial.value == max(column)
        metrics = read_metrics(run)
        assert metrics["val.average_precision"] == max(column)
        assert metrics["best_epoch"] == column.index(max(column))
        key = "test.seen.average_precision"
        assert trial.user_attrs[key] == metrics[key]


def test_the_best_configuration_repeats_the_best_trial(first, tmp_path):
    folder, _ = first
    best = stored(folder).best_trial
    config = folder / "study/best.yaml"
    assert yaml.safe_load(config.read_text())["wandb"]["group"] is None
    more = ("--output", tmp_path / "run", "--trainer.logger", "false", "--trainer.callbacks", "[]")
    done = runs.call(fit.main, "--config", config, *more)
    assert done.result["val.average_precision"] == best.value


def test_a_study_leaves_a_table_pictures_and_the_best_checkpoint(first):
    folder, _ = first
    with (folder / "study/trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    best = stored(folder).best_trial
    assert [row["state"] for row in rows].count("fail") >= 1
    assert float(rows[best.number]["val/average_precision"]) == best.value
    names = {"history", "importance", "parallel", "slice", "epochs", "timeline"}
    for name in names:
        assert (folder / f"study/plots/{name}.png").read_bytes().startswith(b"\x89PNG")
        page = (folder / f"study/plots/{name}.html").read_text()
        assert 'src="plotly.min.js"' in page
    page = (folder / "study/report.html").read_text()
    assert page.count("data:image/png;base64,") == len(names)
    assert "failed: out of memory" in page
    assert "https://" not in page
    metas = optuna.artifacts.get_all_artifact_meta(stored(folder))
    assert {meta.filename for meta in metas} == {f"{name}.png" for name in names}
    kept = [path.parent.name for path in (folder / "study/trials").glob("*/checkpoints")]
    assert kept == [f"{stored(folder).best_trial.number:04d}"]


def test_one_wandb_run_per_trial_and_one_of_the_study(first):
    folder, _ = first
    trials = [offline.read(folder / f"study/trials/{i:04d}").run for i in range(3)]
    study = offline.read(folder / "study")
    assert {run["run_group"] for run in [*trials, study.run]} == {"small"}
    assert [run["job_type"] for run in trials] == ["trial"] * 3
    assert [run["display_name"] for run in trials] == [f"small-{i:04d}" for i in range(3)]
    assert (study.run["job_type"], study.run["display_name"]) == ("study", "small")
    columns, rows = study.table("trials")
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    known = stored(folder).trials
    assert [row[DIM] for row in found] == [trial.params[DIM] for trial in known]
    assert [row["val/average_precision"] for row in found] == [trial.value for trial in known]
    best = stored(folder).best_trial
    assert study.summary["val/average_precision"] == best.value


def test_the_same_command_goes_on(first):
    folder, _ = first
    callback = json.dumps([{"class_path": "test_sweep.Greedy"}])
    more = ("--trainer.callbacks", callback)
    before = stored(folder).trials
    args = {"test": True} | CHOICES
    done = runs.call(sweep.main, *arguments(folder, *more, **args))
    assert done.status is None, done.errors
    assert "continuing" in done.printed
    assert stored(folder).trials == before
    done = refused(folder, *more, "--model.encoder.layer.dim", 25, **args)
    assert "begun with another configuration" in done
    assert "model.init_args.encoder.init_args.layer.init_args.dim was 24, is 25" in done
    done = refused(folder, *more, **args, objectives={"val/f1": "maximize"})
    assert "the study small was begun to maximize val/average_precision" in done


def test_trials_of_two_processes_are_pruned_together(tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "ForkServer", children.Shared)
    monkeypatch.setenv("PYTHONPATH", children.environment()["PYTHONPATH"])
    monkeypatch.chdir(tmp_path)
    never = {"lower": 2.0, "n_warmup_steps": 0}  # no precision is above 1
    pruner = {"class_path": "optuna.pruners.ThresholdPruner", "init_args": never}
    callback = json.dumps([{"class_path": "test_sweep.Note"}])
    more = ("--trainer.callbacks", callback, "--trainer.devices", 2, "--trainer.strategy", "ddp")
    done = runs.call(sweep.main, *arguments(tmp_path, *more, trials=1, pruner=pruner))
    assert done.status is None, done.errors + done.printed
    trials = stored(tmp_path).trials
    assert [trial.state for trial in trials] == [TrialState.PRUNED]
    assert [list(trial.intermediate_values) for trial in trials] == [[0]]
    notes = [sorted((tmp_path / f"rank-{i}").read_text().splitlines()) for i in (0, 1)]
    assert notes[0] == notes[1]
    tried = [[trial.params[DIM], trial.params.get("model.sampler.rate")] for trial in trials]
    assert [json.loads(note)[0] for note in notes[0]] == sorted(dim for dim, _ in tried)


# --- what is refused before the first trial ---


def refused(folder, *more, **section):
    args = arguments(folder, *more, **section)
    before = {*folder.rglob("*")}
    done = runs.call(sweep.main, *args)
    assert done.status == 2
    assert {*folder.rglob("*")} == before
    return done.errors


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"space": {}}, "sweep.space is empty"),
        ({"space": {"model.output.joint_dims": {"choices": [1]}}}, "did you mean 'joint_dim'?"),
        ({"space": {DIM: {"choices": [30, "many"]}}}, f"{DIM}: 'many': "),
        (
            {"space": {"model.sampler.rate": {"type": "float", "low": 0.5, "high": 2.0}}},
            "sampler.rate: 2.0: rate is 2.0: a label sampling rate is above 0 and at most 1\n",
        ),
        ({"space": {"output": {"choices": ["a"]}}}, "output: a sweep cannot vary this key"),
        ({"objectives": {"val/f1": "up"}}, "sweep.objectives"),
        ({"objectives": {"val/german/f1": "maximize"}}, "'val/german/f1'; did you mean 'val/f1'"),
        ({"trails": 3}, "did you mean 'sweep.trials'?"),
        ({"storage": "postgresql://me:secret@127.0.0.1:9/x"}, "postgresql://me:***@127.0.0.1:9/x"),
        ({"sampler": {"class_path": "optuna.samplers.TPSampler"}}, "no 'TPSampler'"),
    ],
)
def test_mistakes(section, problem, tmp_path):
    assert problem in refused(tmp_path, **section)


def test_options_that_do_not_fit(tmp_path):
    assert "start_from: trials train from" in refused(tmp_path, "--start_from", tmp_path / "run")
    assert "there is no GPU 7" in refused(tmp_path, "--devices", "7")
    assert "--jobs is 0" in refused(tmp_path, "--jobs", 0)
    assert "start the command on every" in refused(tmp_path, "--trainer.num_nodes", 2)


def test_fit_ignores_the_section(tmp_path):
    args = arguments(tmp_path, epochs=1, trails=3)
    assert runs.call(fit.main, *args).status is None
    assert "sweep" not in yaml.safe_load((tmp_path / "study/config.yaml").read_text())
