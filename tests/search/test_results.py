"""What studies leave: of two objectives, with class paths as choices, with nothing to draw."""

import csv
import os
from types import SimpleNamespace

import optuna
import pytest

from gile_lightning.search import results
from gile_lightning.search.plots import shortened
from gile_lightning.search.recovery import OUTCOME
from gile_lightning.search.results import write_results

pytestmark = [
    pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

KINDS = ("history", "importance", "parallel", "slice")
GOALS = ["val/f1", "documents_per_second"]


def configuration(values):
    return f"x: {values['x']}\n"


@pytest.fixture
def study():
    study = optuna.create_study(study_name="both", directions=["maximize", "maximize"])
    study.set_metric_names(GOALS)
    for x, pruned in ((0.1, False), (0.5, False), (0.9, False), (0.3, False), (0.7, True)):
        trial = study.ask()
        trial.suggest_float("x", 0.0, 1.0)
        trial.suggest_float("y", 1e-3, 1.0, log=True)
        trial.set_user_attr("x given", x)
        trial.set_user_attr(OUTCOME, "failed: <b>bad</b>" if pruned else "complete")
        trial.set_user_attr("log_tail", "<i>log</i>")
        if pruned:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, [x, 1 - (x - 0.5) ** 2])
    return study


def test_the_files_of_two_objectives(study, tmp_path):
    (tmp_path / "best-0000.yaml").write_text("of an earlier front")
    own = tmp_path / "best-of-mine.yaml"
    own.write_text("x: 1")
    write_results(study, tmp_path, GOALS, configuration, None)
    # 0.5 is the fastest and 0.9 the most accurate: the others are worse than 0.5 in both
    written = {path.name for path in tmp_path.glob("best*")} - {own.name}
    assert written == {"best-0001.yaml", "best-0002.yaml"}
    assert own.read_text() == "x: 1"
    x = study.trials[1].params["x"]
    assert (tmp_path / "best-0001.yaml").read_text() == f"x: {x}\n"
    drawn = {path.stem for path in (tmp_path / "plots").glob("*.png")}
    each = {f"{kind}-{name}" for kind in KINDS for name in ("val-f1", "documents_per_second")}
    assert drawn == {"pareto", "timeline", *each}
    page = (tmp_path / "report.html").read_text()
    assert "maximize val/f1, maximize documents_per_second. 4 complete, 1 fail." in page
    assert "<b>bad" not in page
    assert "<i>log" not in page
    assert "&lt;i&gt;log" in page

    with (tmp_path / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["state"] for row in rows] == ["complete"] * 4 + ["fail"]
    assert [row["x given"] for row in rows] == ["0.1", "0.5", "0.9", "0.3", "0.7"]
    assert [row["val/f1"] for row in rows] == ["0.1", "0.5", "0.9", "0.3", ""]


def test_what_is_logged_is_kept_beside_the_run(study, tmp_path, monkeypatch):
    """W&B would keep the table in the home."""
    kept = []
    run = SimpleNamespace(
        dir=str(tmp_path / "wandb/run/files"),
        log=lambda logged: kept.append(os.environ["WANDB_DATA_DIR"]),
        summary={},
        config=SimpleNamespace(update=lambda *args, **kwargs: None),
    )
    monkeypatch.delenv("WANDB_DATA_DIR", raising=False)
    monkeypatch.setattr(results, "RunLogger", lambda *a, **k: SimpleNamespace(experiment=run))
    write_results(study, tmp_path, GOALS, configuration, {})
    assert kept == [str(tmp_path / "wandb/run")]
    assert "WANDB_DATA_DIR" not in os.environ


def test_nothing_to_draw(tmp_path):
    study = optuna.create_study(study_name="one")
    write_results(study, tmp_path, ["val/f1"], configuration, None)
    assert list(tmp_path.iterdir()) == []  # nothing at all
    study.tell(study.ask(), state=optuna.trial.TrialState.FAIL)
    write_results(study, tmp_path, ["val/f1"], configuration, None)
    assert "No trial is complete." in (tmp_path / "report.html").read_text()


def test_class_paths_are_drawn_short_unless_they_would_be_the_same():
    study = optuna.create_study(study_name="classes", direction="maximize")
    own, same = ("a.b.GILE", '{"class_path": "c.Linear", "init_args": {"x": 1}}'), ("a.X", "b.X")
    for i in range(4):
        trial = study.ask()
        trial.suggest_categorical("output", own)
        trial.suggest_categorical("other", same)
        trial.suggest_float("x", 0, 1)
        study.tell(trial, float(i))
    drawn = shortened(study)
    for trial, before in zip(drawn.trials, study.trials, strict=True):
        choices = ("GILE", "Linear(x=1)")
        assert trial.distributions["output"].choices == choices
        assert trial.params["output"] == choices[own.index(before.params["output"])]
        assert (trial.number, trial.value) == (before.number, before.value)
        assert [trial.params[key] for key in ("other", "x")] == [
            before.params[key] for key in ("other", "x")
        ]
    assert study.trials[0].params["output"] in own
