import builtins
import csv
import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import wandb
import yaml

import gile_lightning
from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.data import BioASQ
from gile_lightning.tracking import wandb_logger
from gile_lightning.tracking.dashboard import workspace
from gile_lightning.tracking.wandb_logger import RunLogger, default_mode
from gile_testing import offline, runs

KEY = "0123456789" * 4


@pytest.fixture
def tracked(monkeypatch, tmp_path):
    """W&B as on a machine where nobody set it up, and nobody sits at the keyboard."""

    def ask(*args, **kwargs):
        raise AssertionError("asked")

    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_ERROR_REPORTING", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(builtins, "input", ask)
    yield monkeypatch
    wandb.finish()
    wandb.teardown()


# --- tables ---


def test_columns_of_numbers_are_numbers_and_names_stay_names():
    rows = [["101", "1,234", "", 3], ["110; 104", "5.50", "2", None]]
    found = wandb_logger._numbers(rows)
    assert found == [["101", 1234.0, None, 3], ["110; 104", 5.5, 2.0, None]]
    wandb.Table(columns=[*"abcd"], data=found, allow_mixed_types=True)
    assert wandb_logger._numbers([]) == []


def test_names_of_labels_in_logged_tables_stay_names(tracked, tmp_path):
    """Those of a taxonomy of numbers too."""
    tracked.setenv("WANDB_MODE", "offline")
    rows = {"confusions": (["gold", "share"], [["0012", "5"]]), "f1": (["tuned"], [["0.5"]])}
    logged = {}
    logger = RunLogger(tmp_path)
    tracked.setattr(logger.experiment, "log", logged.update)
    logger.log_report(SimpleNamespace(tables=rows), {"val.f1": 0.25, "test.f1": 0.5})
    assert logged["confusions"].data == [["0012", "5"]]
    assert logged["f1"].data == [[0.5]]
    assert dict(logger.experiment.summary) == {"val.f1": 0.25, "val/f1": 0.25, "test.f1": 0.5}


# --- which mode ---


@pytest.mark.parametrize(
    ("environment", "mode"),
    [
        ({}, "offline"),
        ({"WANDB_API_KEY": KEY}, "online"),
        ({"WANDB_API_KEY": ""}, "offline"),
        ({"WANDB_MODE": "dryrun", "WANDB_API_KEY": KEY}, "offline"),
        ({"WANDB_MODE": "disabled", "WANDB_API_KEY": KEY}, "disabled"),
        ({"WANDB_MODE": "online", "WANDB_API_KEY": KEY}, "online"),
        ({"WANDB_MODE": "online"}, "offline"),  # it would ask for a key
    ],
)
def test_mode(tracked, environment, mode):
    for name, value in environment.items():
        tracked.setenv(name, value)
    assert default_mode() == mode


@pytest.mark.parametrize(
    ("line", "host", "mode"),
    [
        ("machine api.wandb.ai login user password {key}", None, "online"),
        ("machine api.wandb.ai login user password {key}", "http://127.0.0.1:9", "offline"),
        ("machine 127.0.0.1 login user password {key}", "http://127.0.0.1:9", "online"),
        ("machine github.com login me password secret", None, "offline"),
        ("nonsense", None, "offline"),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_mode_by_a_stored_key(tracked, tmp_path, line, host, mode, named):
    path = tmp_path / ("home/.netrc" if not named else "keys")
    path.parent.mkdir(exist_ok=True)
    path.write_text(line.format(key=KEY) + "\n")
    path.chmod(0o600)
    if named:
        tracked.setenv("NETRC", str(path))
    if host:
        tracked.setenv("WANDB_BASE_URL", host)
    assert default_mode() == mode


# --- a run ---


@pytest.fixture(scope="module")
def done():
    """A fit of two processes, which is one run."""
    return offline.fit(*offline.SHARED, processes=2)


def test_what_a_run_is(done):
    run = done.offline.run
    assert (run["project"], run["tags"]) == ("kittens", ["a", "b"])
    assert (run["run_group"], run["job_type"]) == ("study", "trial")
    assert run["display_name"] == "trial-7"
    if done.commit is not None:
        assert run["git"]["commit"] == done.commit  # of the working directory


def test_the_whole_configuration(done):
    run = done.offline
    stored = yaml.safe_load((run.output / "config.yaml").read_text())
    assert {key: run.config[key] for key in stored} == stored
    assert run.config["corpus"]["documents"]["test"] == run.summary["test.all.documents"]
    assert run.config["skipped"] == json.loads((run.output / "skipped.json").read_text())
    about = run.config["run"]
    data = BioASQ(**runs.DATA, cache_dir=runs.cache())
    assert about["data_fingerprint"] == data.fingerprint()
    assert about["commit"] == done.commit
    sizes = run.config["parameters"]
    assert sum(sizes["english"].values()) == sizes["all"] == run.summary["parameters"]
    assert sizes["english"]["output"] > 0


def test_curves_against_the_step(done):
    run = done.offline
    assert run.metrics["*"]["step_metric"] == "trainer/global_step"
    rows = list(csv.DictReader((run.output / "metrics.csv").read_text().splitlines()))
    assert len(rows) == 2
    for name in ("val/average_precision", "val/f1", "train/documents_per_second"):
        values = list(run.figures(name).values())
        assert values == pytest.approx([float(row[name]) for row in rows], rel=1e-6), name
    steps = [int(row["step"]) for row in rows]
    assert list(run.figures("train/documents_per_second")) == steps
    # Lightning logs the scores at the step that was the last one before them, counted from 0
    assert list(run.figures("val/average_precision")) == [step - 1 for step in steps]


def test_tables_and_summary(done):
    run = done.offline
    metrics = read_metrics(run.output)
    for key, value in metrics.items():
        assert run.summary[key] == pytest.approx(value), key
    columns, rows = run.table("results")
    found = {row[0]: dict(zip(columns, row, strict=True)) for row in rows}
    precision = 100 * metrics["test.unseen.average_precision"]
    assert found["unseen"]["average precision"] == pytest.approx(precision, abs=0.005001)
    # of the checkpoint that is kept, not of the last epoch
    assert run.summary["val/average_precision"] == metrics["val.average_precision"]
    assert columns[-1] == "hit@1"  # an added metric
    assert len(run.figures("val/hit_at_1")) == 2
    columns, rows = run.table("by_frequency")
    assert [row[0] for row in rows] == ["1 to 5", "6 to 50"]
    precision = 100 * metrics["test.frequency_1_to_5.average_precision"]
    assert rows[0][1] == pytest.approx(precision, abs=0.005001)
    assert run.table("average_precision_by_frequency_table")[1] == rows
    assert "_wandb.visualize.average_precision_by_frequency" in run.config


def test_the_reliability_diagram(done):
    run = done.offline
    metrics = read_metrics(run.output)
    columns, rows = run.table("reliability_diagram_table")
    assert columns[2:4] == ["mean probability (%)", "right (%)"]  # its axes
    assert "_wandb.visualize.reliability_diagram" in run.config
    for candidates in ("seen", "unseen"):
        bins = [row[2:] for row in rows if row[1] == candidates]
        pairs = sum(size for *_, size in bins)
        error = sum(size * abs(told - right) for told, right, size in bins) / pairs / 100
        assert error == pytest.approx(
            metrics[f"test.{candidates}.expected_calibration_error"],
            abs=1e-4,  # rounded to 0.01 %
        )


def test_example_predictions_are_those_of_the_best_checkpoint(done):
    run = done.offline
    predictor = gile_lightning.load(run.output)
    columns, rows = run.table("examples")
    assert len(rows) == 20
    for row in (dict(zip(columns, row, strict=True)) for row in rows):
        gold = (row["gold labels"] or "").split("; ")
        names = [found.rpartition(" (")[0].rpartition(" ")[0] for found in _parts(row)]
        hits = [found.endswith("(hit)") for found in _parts(row)]
        assert hits == [name in gold for name in names]
        assert row["hits"] == sum(hits)
        assert set((row["missed"] or "").split("; ")) - {""} == set(gold) - set(names)
        if not row["text"].endswith(" …"):  # the whole text: tokens are split into themselves
            (again,) = predictor.predict([row["text"]], top_k=len(names))
            assert [label["name"] for label in again] == names
    columns, rows = run.table("confusions")
    counts = [row[3] for row in rows]
    assert counts == sorted(counts, reverse=True)
    assert all(0 < row[4] <= 100 and row[1] != row[2] for row in rows)


def _parts(row):
    return row["predicted labels"].split("; ")


def test_nothing_is_sent_and_nothing_is_kept_elsewhere(done):
    assert done.calls == 0
    assert not list(done.home.rglob("*staging*"))
    kept = [
        Path(entry["local_path"])
        for record in offline.records(next(done.offline.folder.glob("run-*.wandb")))
        for entry in record.get("artifact", {}).get("manifest", {}).get("contents", ())
    ]
    assert len(kept) == 9  # the tables, and those of the charts
    assert all(path.is_file() and path.is_relative_to(done.offline.folder) for path in kept)
    assert len(list(done.offline.output.glob("wandb/*run-*"))) == 1
    assert (done.offline.output / "report.html").is_file()


def test_a_resumed_run_goes_on_also_after_a_server_that_died(tracked, tmp_path):
    first = RunLogger(tmp_path / "run")
    folder, name = Path(first.experiment.dir).parent, first.experiment.id

    def late():
        raise TimeoutError("Timed out finishing run.")

    with tracked.context() as patch:
        patch.setattr(wandb, "finish", late)
        with pytest.warns(UserWarning, match=f"wandb sync {folder}"):
            wandb_logger.finish()
    wandb.finish()
    assert RunLogger(tmp_path / "run").experiment.id == name


def test_a_server_that_does_not_answer_leaves_earlier_runs_alone(tracked, tmp_path):
    earlier = tmp_path / "run/wandb/run-20200101_000000-abcdefgh"
    earlier.mkdir(parents=True)
    tracked.setenv("WANDB_API_KEY", KEY)
    tracked.setattr(wandb_logger, "_CONNECT", 3.0)
    with offline.server() as (address, _):
        tracked.setenv("WANDB_BASE_URL", address)
        start = time.monotonic()
        logger = RunLogger(tmp_path / "run", group="study")
        with pytest.warns(UserWarning, match="cannot be reached .* logged offline"):
            logger.log_hyperparams({"model": {"dim": 3}})
        logger.log_metrics({"loss": 0.5}, step=1)
        wandb_logger.finish()
        assert time.monotonic() - start < 20
    assert [path.name for path in (tmp_path / "run/wandb").glob("run-*")] == [earlier.name]
    found = offline.read(tmp_path / "run")
    assert found.config["model"] == {"dim": 3}
    assert found.summary["loss"] == 0.5
    assert found.run["run_group"] == "study"


# --- the dashboard of such runs ---


@pytest.fixture(scope="module")
def panels():
    """The panels' configurations, by their kind, as they would be sent."""
    pytest.importorskip("wandb_workspaces")
    spec = workspace("kittens", "me")._to_model().model_dump(by_alias=True)["spec"]
    found = {}
    for section in spec["section"]["panelBankConfig"]["sections"]:
        for panel in section["panels"]:
            found.setdefault(panel["viewType"], []).append(panel["config"])
    return found


def at(config, path):
    """Follow a path as W&B writes it: config:model.value.init_args.x."""
    first, _, rest = path.removeprefix("config:").partition(".value.")
    found = config[first]
    for key in rest.split("."):
        found = found[key]
    return found


def test_the_dashboard_shows_curves_and_tables_that_a_fit_logs(panels, done):
    run = done.offline
    logged = {key for row in run.history for key in row}
    curves = panels["Run History Line Plot"]
    assert len(curves) == 6
    for curve in curves:
        assert curve["xAxis"] == "trainer/global_step"
        assert set(curve["metrics"]) <= logged
    tables = [x["panel2Config"]["exp"]["fromOp"]["inputs"]["key"]["val"] for x in panels["Weave"]]
    assert len(tables) == 7
    assert all(run.table(name)[1] for name in tables)


def test_the_dashboard_draws_settings_and_results_of_a_fit(panels, done):
    run = done.offline
    (lines,) = panels["Parallel Coordinates Plot"]
    axes = [column["accessor"] for column in lines["columns"]]
    axes += [cloud[axis] for cloud in panels["Scatter Plot"] for axis in ("xAxis", "yAxis")]
    values = {}
    for axis in axes:
        kind, _, name = axis.partition(":")
        values[name] = at(run.config, axis) if kind == "config" else run.summary[name]
    assert all(isinstance(value, int | float) for value in values.values())
    joint = "model.value.init_args.output.init_args.joint_dim"
    assert values[joint] == runs.MODEL["output.joint_dim"]
    pairs = {
        (cloud["xAxis"].rpartition(".")[2], cloud["yAxis"]) for cloud in panels["Scatter Plot"]
    }
    results = ("summary:val/average_precision", "summary:documents_per_second")
    assert pairs == {(x, y) for x in ("joint_dim", "rate") for y in results}
