"""Optuna's dashboard shows a study of the default storage, with its files."""

import io
import json

import optuna
import pytest
from optuna.artifacts import FileSystemArtifactStore

from gile_lightning.commands import launcher
from gile_lightning.search.storage import default_url
from gile_lightning.search.worker import Worker
from gile_testing import studies
from gile_testing.studies import plan, study

optuna_dashboard = pytest.importorskip("optuna_dashboard")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the server's libraries


def get(app, path):
    """Ask the application as a server would."""
    status = []
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": io.StringIO(),
        "wsgi.url_scheme": "http",
    }
    body = b"".join(app(environ, lambda code, headers, *more: status.append(code)))
    assert status == ["200 OK"], body
    return body


def test_it_shows_trials_and_logs(tmp_path, monkeypatch):
    monkeypatch.setattr(Worker, "program", (studies.STAND_IN,))
    monkeypatch.setattr(launcher, "_PAUSE", 0.02)
    url = default_url(tmp_path)
    Worker(study(url, 1), plan(url, tmp_path, trials=2), lambda trial: None).run()
    storage = optuna.storages.RDBStorage(url)
    store = FileSystemArtifactStore(tmp_path / "artifacts")
    app = optuna_dashboard.wsgi(storage, artifact_store=store)
    (found,) = json.loads(get(app, "/api/studies"))["study_summaries"]
    number = found["study_id"]
    assert found["study_name"] == "study"
    details = json.loads(get(app, f"/api/studies/{number}"))
    assert [trial["state"] for trial in details["trials"]] == ["Complete", "Complete"]
    trial = details["trials"][0]
    (artifact,) = trial["artifacts"]
    path = f"/artifacts/{number}/{trial['trial_id']}/{artifact['artifact_id']}"
    assert b"x is 0.5" in get(app, path)
    studies.close()
