"""A database that goes away and comes back, while workers are at work."""

import contextlib
import json
import time
from collections import Counter

import pytest

from gile_lightning.search.recovery import counted, first_number
from gile_testing import children, studies
from gile_testing.postgresql import server
from gile_testing.stages import STAGES, TIMEOUT

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")

OUTAGES = (0.0, 0.4, 1.1)  # seconds of work before each
AWAY = 2  # seconds


@pytest.fixture
def postgresql():
    with server() as started:
        yield started


def each_ended_once(url, count):
    trials = studies.study(url).get_trials()
    studies.close()
    assert counted(trials) == count
    assert all(trial.state.is_finished() for trial in trials)
    ended = Counter(first_number(x) for x in trials if x.state.name in ("COMPLETE", "PRUNED"))
    assert max(ended.values()) == 1


def test_a_database_that_comes_back(tmp_path):
    url, file = f"sqlite:///{tmp_path}/study.db", tmp_path / "study.db"
    studies.study(url)
    log = tmp_path / "worker.txt"
    with children.forked(log, studies.__name__, url, tmp_path, 6, 1) as worker:
        children.wait_for(lambda: len(list(tmp_path.glob("trials/*/starts"))) >= 2)
        away = file.rename(tmp_path / "away.db")
        time.sleep(AWAY)
        away.replace(file)  # in place of an empty one, which SQLite may have made
        assert worker.wait(300) == 0, log.read_text()
    assert "Traceback" not in log.read_text()
    each_ended_once(url, 6)


def test_a_server_that_comes_back(postgresql, tmp_path):
    """Three workers; the server is away while they begin trials, run them and end them."""
    studies.study(postgresql.url)
    studies.close()
    logs = [tmp_path / f"worker-{number}.txt" for number in range(3)]
    with contextlib.ExitStack() as stack:
        workers = [
            stack.enter_context(
                children.forked(log, studies.__name__, postgresql.url, tmp_path, 15, number)
            )
            for number, log in enumerate(logs)
        ]
        children.wait_for(lambda: list(tmp_path.glob("trials/*/starts")))
        for seconds in OUTAGES:
            time.sleep(seconds)
            assert None in [worker.poll() for worker in workers]
            postgresql.stop()
            time.sleep(AWAY)
            postgresql.start()
        for worker, log in zip(workers, logs, strict=True):
            assert worker.wait(300) == 0, log.read_text()
            assert "Traceback" not in log.read_text()
    each_ended_once(postgresql.url, 15)


def test_a_server_that_stays_away(postgresql, tmp_path):
    """A sweep ends with one line, and goes on when the server is back."""
    folder, log = tmp_path / "work", tmp_path / "log.txt"
    folder.mkdir()
    sweep = STAGES["sweep"]
    given = [*sweep.arguments(folder), "--sweep.storage", postgresql.url]
    program = (log, "gile_testing.faults", json.dumps({"outage": 0.05}), sweep.module, *given)
    with children.forked(*program, folder=folder) as process:
        children.wait_for(lambda: list(folder.glob("study/trials/*/log.txt")))
        postgresql.stop()
        assert process.wait(TIMEOUT) == 2, log.read_text()
    printed = log.read_text()
    assert "Traceback" not in printed, printed
    (line,) = [x for x in printed.splitlines() if x.startswith("error: ")]
    assert line.startswith("error: sweep.storage: ")
    assert "when it answers again, the same command continues the study" in line
    postgresql.start()
    with children.forked(*program, folder=folder) as process:
        assert process.wait(TIMEOUT) == 0, log.read_text()
    results = [json.loads(file.read_text()) for file in folder.glob("study/trials/*/trial.json")]
    assert [result["state"] for result in results] == ["complete"] * 2
