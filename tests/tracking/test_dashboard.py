import sys

import pytest

from gile_lightning import dashboard
from gile_lightning.tracking.dashboard import workspace
from gile_testing import offline, runs

pytest.importorskip("wandb_workspaces")


@pytest.fixture(scope="module")
def panels():
    """The panels' configurations, by their kind, as they would be sent."""
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


def test_a_fit_logs_every_curve_and_table(panels):
    run = offline.fit(*offline.SHARED).offline
    logged = {key for row in run.history for key in row}
    curves = panels["Run History Line Plot"]
    assert len(curves) == 6
    for curve in curves:
        assert curve["xAxis"] == "trainer/global_step"
        assert set(curve["metrics"]) <= logged
    tables = [x["panel2Config"]["exp"]["fromOp"]["inputs"]["key"]["val"] for x in panels["Weave"]]
    assert len(tables) == 6
    assert all(run.table(name)[1] for name in tables)


def test_settings_and_results_are_those_of_a_fit(panels):
    run = offline.fit(*offline.SHARED).offline
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


def test_without_a_key(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("WANDB_API_KEY", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    done = runs.call(dashboard.main, "--project", "kittens")
    assert done.status == 2
    assert "no W&B key: run `wandb login`, or set WANDB_API_KEY" in done.errors


def test_without_the_package(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("wandb_workspaces")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)
    done = runs.call(dashboard.main)
    assert done.status == 2
    assert "pip install wandb-workspaces" in done.errors


def test_a_server_that_cannot_be_reached(monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "0123456789" * 4)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("gile_lightning.tracking.dashboard._TIMEOUT", 1)
    done = runs.call(dashboard.main)
    assert done.status == 2
    assert "check --project gile_lightning, --entity and the key" in done.errors
