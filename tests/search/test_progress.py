"""The lines of a running sweep."""

import json
import shlex
import sys
from wsgiref.util import setup_testing_defaults

import optuna
import pytest

from gile_lightning.commands.launcher import Launcher
from gile_lightning.search.plan import Plan
from gile_lightning.search.progress import TrialProgress
from gile_lightning.search.settings import Search
from gile_lightning.search.storage import default_url, open_storage


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_the_dashboard_shows_the_study(tmp_path, monkeypatch, capsys):
    dashboard = pytest.importorskip("optuna_dashboard._cli")
    url = default_url(tmp_path)
    study = optuna.create_study(study_name="small", storage=open_storage(url))
    plan = Plan(Search(), (), ["val/f1"], "{}", None, tmp_path, url, Launcher())
    TrialProgress(study, plan).begin(tmp_path, url)
    (command,) = [line for line in capsys.readouterr().out.splitlines() if "watch: " in line]

    apps = []
    monkeypatch.setattr(dashboard, "auto_select_server", lambda server: "wsgiref")
    monkeypatch.setattr(dashboard, "run_wsgiref", lambda app, *options: apps.append(app))
    monkeypatch.setattr(sys, "argv", shlex.split(command.partition("watch: ")[2]))
    (tmp_path / "artifacts").mkdir()
    dashboard.main()
    request = {"PATH_INFO": "/api/studies", "HTTP_ACCEPT": "application/json"}
    setup_testing_defaults(request)
    answer = b"".join(apps[0](request, lambda *status: None))
    assert [found["study_name"] for found in json.loads(answer)["study_summaries"]] == ["small"]
