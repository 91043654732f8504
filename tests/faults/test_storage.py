"""A database that goes away and comes back, while workers are at work."""

import time

import pytest

from gile_lightning.search.recovery import counted
from gile_testing import children, studies

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


def test_a_database_that_comes_back(tmp_path):
    url, file = f"sqlite:///{tmp_path}/study.db", tmp_path / "study.db"
    studies.study(url)
    log = tmp_path / "worker.txt"
    with children.forked(log, studies.__name__, url, tmp_path, 6, 1) as worker:
        children.wait_for(lambda: len(list(tmp_path.glob("trials/*/starts"))) >= 2)
        away = file.rename(tmp_path / "away.db")
        time.sleep(2)
        away.replace(file)  # in place of an empty one, which SQLite may have made
        assert worker.wait(300) == 0, log.read_text()
    trials = studies.study(url).get_trials()
    studies.close()
    assert "Traceback" not in log.read_text()
    assert counted(trials) == 6
    assert all(trial.state.is_finished() for trial in trials)
