import builtins
import contextlib
import json
import sys
import time
from pathlib import Path

import pytest
import runs
import wandb
from wandb.cli.cli import cli as wandb_cli

from gile_lightning import fit
from gile_lightning.tracking import wandb_logger
from gile_lightning.tracking.wandb_logger import RunLogger, default_mode

KEY = "0123456789" * 4


@pytest.fixture
def tracked(monkeypatch, tmp_path):
    """W&B as on a machine where nobody set it up, and nobody sits at the keyboard."""

    def ask(*args, **kwargs):
        raise AssertionError("asked")

    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_BASE_URL", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(builtins, "input", ask)
    yield monkeypatch
    wandb.finish()
    wandb.teardown()


@pytest.fixture
def read(capfd):
    """Reads an offline run back: its file, configuration and summary."""

    def read(folder: Path) -> tuple[Path, dict, dict]:
        (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
        capfd.readouterr()
        with contextlib.suppress(SystemExit):
            wandb_cli(["leet", "inspect", "--json", str(path)])
        records = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        config, summary = {}, {}
        for record in records:
            config |= record.get("config", {}).get("update", {})
            summary |= record.get("summary", {}).get("update", {})
        return path, config, summary

    return read


# --- which mode ---


@pytest.mark.parametrize(
    ("environment", "mode"),
    [
        ({}, "offline"),
        ({"WANDB_API_KEY": KEY}, "online"),
        ({"WANDB_API_KEY": ""}, "offline"),
        ({"WANDB_MODE": "offline", "WANDB_API_KEY": KEY}, "offline"),
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


def test_fit_offline(tracked, read, tmp_path):
    tracked.setattr(sys, "stdin", None)
    arguments = runs.arguments(tmp_path / "run")
    arguments[arguments.index("--trainer.logger") + 1] = "null"
    tags = ("--wandb.project", "kittens", "--wandb.tags", '["a", "b"]')
    done = runs.call(fit.main, *arguments, *tags)
    assert done.status is None, done.errors
    assert wandb.run is None  # finished
    path, config, summary = read(tmp_path / "run")
    assert config["data"]["init_args"]["builtin_documents"] == runs.DOCUMENTS
    assert (
        config["model"]["init_args"]["output"]["init_args"]["joint_dim"]
        == runs.MODEL["output.joint_dim"]
    )
    assert config["corpus"]["documents"]["test"] == done.result["test.all.documents"]
    for key, value in done.result.items():
        assert summary[key] == pytest.approx(value), key
    assert summary["val/average_precision"] > 0
    (table,) = path.parent.glob("files/media/table/results*.json")
    rows = {row[0]: row[1:] for row in json.loads(table.read_text())["data"]}
    precision = 100 * done.result["test.unseen.average_precision"]
    assert float(rows["unseen"][2]) == pytest.approx(precision, abs=0.01)


def test_a_resumed_run_goes_on(tracked, tmp_path):
    first = RunLogger(tmp_path / "run")
    first.log_metrics({"loss": 1.0}, step=1)
    name = first.experiment.id
    wandb.finish()
    second = RunLogger(tmp_path / "run")
    assert second.experiment.id == name
    other = RunLogger(tmp_path / "other")
    wandb.finish()
    assert other.experiment.id != name


def test_a_server_that_cannot_be_reached(tracked, read, tmp_path):
    tracked.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    tracked.setenv("WANDB_API_KEY", KEY)
    tracked.setattr(wandb_logger, "_CONNECT", 2.0)
    start = time.monotonic()
    logger = RunLogger(tmp_path / "run")
    with pytest.warns(UserWarning, match="cannot be reached .* logged offline"):
        logger.log_hyperparams({"model": {"dim": 3}})
    logger.log_metrics({"loss": 0.5}, step=1)
    wandb.finish()
    assert time.monotonic() - start < 30
    _, config, summary = read(tmp_path / "run")
    assert config["model"] == {"dim": 3}
    assert summary["loss"] == 0.5
