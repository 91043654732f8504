import sys

import pytest

from gile_lightning import dashboard
from gile_testing import runs

pytest.importorskip("wandb_workspaces")


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
