"""Workers on one study: killed, interrupted, short of memory. Stand-ins take the place of fits."""

import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage
from optuna.trial import TrialState

from gile_lightning.commands import launcher
from gile_lightning.common.errors import InputError
from gile_lightning.search import outage
from gile_lightning.search import worker as module
from gile_lightning.search.attempt import Attempt
from gile_lightning.search.recovery import OUTCOME, counted, first_number, outcome
from gile_lightning.search.worker import Worker
from gile_testing import children, studies
from gile_testing.children import alive, wait_for
from gile_testing.studies import plan, study

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch):
    monkeypatch.setattr(Worker, "program", (studies.STAND_IN,))
    monkeypatch.setattr(launcher, "_PAUSE", 0.02)
    monkeypatch.setattr(module, "_POLL", 0.1)
    yield
    studies.close()


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/study.db"


def start(url, folder, trials, seed):
    log = folder / f"worker-{seed}.txt"
    return children.forked(log, studies.__name__, url, folder, trials, seed)


def starts(folder):
    """Return the process, the value and --ckpt_path of every start of a trial, by run folder."""
    return {
        path.parent.name: [line.split() for line in path.read_text().splitlines()]
        for path in (folder / "trials").glob("*/starts")
    }


# one storage of each kind; the other tests have SQLite
@pytest.mark.parametrize("kind", ["postgresql", "journal"])
def test_four_workers_two_of_them_killed(kind, tmp_path, request):
    if kind == "postgresql":
        url = request.getfixturevalue("database")
    else:
        url = f"journal://{tmp_path}/study"
    trials, chance = 14, random.Random(5)
    known = study(url)
    known.enqueue_trial({"x": 0.99})  # out of memory
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(start(url, tmp_path, trials, seed)) for seed in range(4)]
        for victim in workers[:2]:
            count = len(starts(tmp_path))
            wait_for(lambda count=count: len(starts(tmp_path)) > count + 3)
            time.sleep(chance.random() / 2)
            os.kill(victim.pid, signal.SIGKILL)
        for seed, process in enumerate(workers):
            status = process.wait(240)
            told = (tmp_path / f"worker-{seed}.txt").read_text()
            assert status == (-9 if process in workers[:2] else 0), told
    found = study(url).get_trials()
    assert {trial.state for trial in found} <= set(FINISHED)
    assert counted(found) == trials
    (memory,) = [
        trial
        for trial in found
        if trial.params.get("x") == 0.99 and outcome(trial).startswith("failed")
    ]
    assert memory.user_attrs[OUTCOME] == "failed: out of memory: tried to allocate 1 PiB"
    assert "x is 0.99" in memory.user_attrs["log_tail"]
    told = {trial.number: outcome(trial) for trial in found}
    assert all(told.values())
    vanished = ("begun by", "its worker vanished")
    lost = [trial for trial in found if told[trial.number].startswith(vanished)]
    again = {
        first_number(trial): trial for trial in found if trial.system_attrs.get("retry_history")
    }
    assert len(lost) <= 2
    assert {trial.number for trial in lost} == set(again)  # each is repeated, nothing else is
    for trial in lost:
        assert trial.state == TrialState.FAIL
        # one that was killed before it had a value draws it when it is repeated
        assert again[trial.number].params == (trial.params or again[trial.number].params)
    for name, lines in starts(tmp_path).items():  # nothing ran twice that was not killed
        assert 1 <= len(lines) <= 1 + (int(name) in again), name
        assert len({x for _, x, _ in lines}) == 1
    for trial in found:
        if trial.state == TrialState.COMPLETE:
            assert trial.value == pytest.approx(1 - (trial.params["x"] - 0.3) ** 2)
    # and on with it
    Worker(study(url), plan(url, tmp_path, trials=trials + 2), lambda trial: None).run()
    assert counted(study(url).get_trials()) == trials + 2


def test_seeds_give_the_same_values_but_not_again_when_the_study_goes_on(url, tmp_path):
    Worker(study(url, 3), plan(url, tmp_path, trials=4), lambda trial: None).run()
    other = f"sqlite:///{tmp_path}/other.db"
    (tmp_path / "other").mkdir()
    Worker(study(other, 3), plan(other, tmp_path / "other", trials=4), lambda trial: None).run()
    first = [trial.params["x"] for trial in study(url).trials]
    assert first[0] == 0.5  # the configuration's own value
    assert first == [trial.params["x"] for trial in study(other).trials]
    Worker(study(url, 3), plan(url, tmp_path, trials=8), lambda trial: None).run()
    values = [trial.params["x"] for trial in study(url).trials]
    assert len(set(values)) == 8


def test_a_trial_whose_process_is_killed_is_tried_again(url, tmp_path):
    (tmp_path / "die").touch()
    Worker(study(url), plan(url, tmp_path, trials=1), lambda trial: None).run()
    first, second = study(url).trials
    assert first.state == TrialState.FAIL
    assert first.user_attrs[OUTCOME].startswith("killed: ")
    assert "SIGKILL" in first.user_attrs[OUTCOME]
    assert second.state == TrialState.COMPLETE
    assert second.params == first.params
    (tmp_path / "die").touch()
    Worker(study(url), plan(url, tmp_path, trials=2, retries=0), lambda trial: None).run()
    first, second, third = study(url).trials
    assert third.state == TrialState.FAIL
    assert third.params != first.params


def test_a_full_disk_ends_a_sweep_and_costs_no_trial(url, tmp_path):
    known, wanted = study(url), plan(url, tmp_path, trials=1, retries=0)
    (tmp_path / "full").touch()
    with pytest.raises(InputError, match="0000: the disk is full; make room, then start again"):
        Worker(known, wanted, lambda trial: None).run()
    (tmp_path / "full").unlink()
    Worker(known, wanted, lambda trial: None).run()
    assert [trial.state for trial in known.trials] == [TrialState.FAIL, TrialState.COMPLETE]
    assert [len(lines) for lines in starts(tmp_path).values()] == [2]


def be_away(monkeypatch, name, calls):
    """Let a function of databases fail so many times."""
    whole, left = getattr(RDBStorage, name), [None] * calls

    def call(*args, **options):
        if left:
            left.pop()
            raise StorageInternalError("no connection")
        return whole(*args, **options)

    monkeypatch.setattr(RDBStorage, name, call)


@pytest.mark.parametrize("name", ["set_trial_user_attr", "set_trial_state_values", "get_trial"])
def test_a_storage_that_comes_back_costs_no_trial(name, url, tmp_path, monkeypatch):
    known = study(url)
    monkeypatch.setattr(outage, "_PAUSE", 0)
    be_away(monkeypatch, name, 10)
    Worker(known, plan(url, tmp_path, trials=1), lambda trial: None).run()
    assert [trial.state for trial in known.trials] == [TrialState.COMPLETE]
    assert [len(lines) for lines in starts(tmp_path).values()] == [1]


@pytest.mark.parametrize("stays", [False, True])
def test_a_trial_whose_end_nobody_could_be_told(stays, url, tmp_path, monkeypatch):
    """Optuna's own error is then an `UnboundLocalError`."""
    known, whole = study(url), Attempt.run
    database = known._storage._backend
    database.heartbeat_interval = database.grace_period = 1
    monkeypatch.setattr(outage, "_PAUSE", 0)

    def run(attempt, *args):
        values = whole(attempt, *args)
        monkeypatch.setattr(Attempt, "run", whole)
        be_away(monkeypatch, "get_trial", 2 * (outage._ATTEMPTS + 1))
        if stays:
            be_away(monkeypatch, "_get_trials", 1000)
        return values

    monkeypatch.setattr(Attempt, "run", run)
    worker = Worker(known, plan(url, tmp_path, trials=1), lambda trial: None)
    if stays:
        with pytest.raises(StorageInternalError):
            worker.run()
    else:
        worker.run()
        assert [trial.state for trial in known.trials] == [TrialState.FAIL, TrialState.COMPLETE]


def test_a_sweep_whose_trials_all_fail_ends(url, tmp_path):
    known = study(url, configuration="{}")
    for _ in range(9):
        known.enqueue_trial({"x": 0.98})
    with pytest.raises(InputError, match=r"first 3 trials have all failed.*out of memory"):
        Worker(known, plan(url, tmp_path, trials=9), lambda trial: None).run()
    assert len(starts(tmp_path)) == 3


def test_it_ends_where_one_of_them_was_interrupted_before(url, tmp_path):
    known = study(url, configuration="{}")
    for _ in range(9):
        known.enqueue_trial({"x": 0.98})
    told = {OUTCOME: "interrupted"}
    known.add_trial(optuna.create_trial(state=TrialState.FAIL, user_attrs=told))
    with pytest.raises(InputError, match="first 3 trials have all failed"):
        Worker(known, plan(url, tmp_path, trials=9), lambda trial: None).run()


def test_hours_end_it(url, tmp_path):
    Worker(study(url), plan(url, tmp_path, trials=None, hours=3 / 3600), lambda trial: None).run()
    assert 1 <= len(study(url).trials) <= 30


def test_checkpoints_of_the_best_are_kept(url, tmp_path):
    known = study(url, configuration="{}")
    for i, x in enumerate((0.5, 0.3, 0.4, 0.8)):
        known.enqueue_trial({"x": x})
        (tmp_path / f"trials/{i:04d}/checkpoints").mkdir(parents=True)
    Worker(known, plan(url, tmp_path, trials=4, keep_checkpoints="best"), lambda trial: None).run()
    assert [path.parent.name for path in (tmp_path / "trials").glob("*/checkpoints")] == ["0001"]


def test_finite_spaces_end_a_sweep(url, tmp_path):
    for _ in range(2):  # the second time there is nothing to do
        grid = optuna.samplers.GridSampler({"x": [0.1, 0.2, 0.3]})
        known = study(url, sampler=grid, configuration="{}")
        Worker(known, plan(url, tmp_path, trials=9), lambda trial: None).run()
        assert Counter(trial.params["x"] for trial in known.trials) == Counter([0.1, 0.2, 0.3])


def test_an_interrupt_of_several_trials_keeps_their_checkpoints(url, tmp_path):
    known = study(url, configuration="{}")
    for i, x in enumerate((0.31, 0.4, 0.5, 0.6)):
        known.enqueue_trial({"x": x})
        (tmp_path / f"trials/{i:04d}/checkpoints").mkdir(parents=True)

    def run(trials):
        several = plan(url, tmp_path, trials=trials, jobs=3, keep_checkpoints="best")
        Worker(study(url, configuration="{}"), several, lambda trial: None).run()

    (tmp_path / "trials/hold").touch()

    def interrupt():
        wait_for(lambda: len(starts(tmp_path)) == 3)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(SystemExit, match="143"):
        run(4)
    thread.join()
    assert not any(alive(pid) for ((pid, *_),) in starts(tmp_path).values())
    assert {x.user_attrs[OUTCOME][:11] for x in known.trials[:3]} == {"interrupted"}
    assert len(list((tmp_path / "trials").glob("*/checkpoints"))) == 4
    (tmp_path / "trials/hold").unlink()
    run(4)
    assert counted(known.trials) == 4
    lines = starts(tmp_path)
    assert [lines[f"{i:04d}"][-1][2] for i in range(4)] == ["last"] * 3 + ["None"]
    assert [path.parent.name for path in (tmp_path / "trials").glob("*/checkpoints")] == ["0000"]


def test_a_trial_that_was_taken_for_dead_ends_and_is_repeated(url, tmp_path):
    (tmp_path / "trials").mkdir()
    (tmp_path / "trials/hold").touch()
    known = study(url)

    def declare_dead():
        wait_for(lambda: starts(tmp_path))
        number = known._storage.get_all_trials(known._study_id)[0]._trial_id
        known._storage.set_trial_state_values(number, TrialState.FAIL)
        wait_for(lambda: not alive(starts(tmp_path)["0000"][0][0]))
        (tmp_path / "trials/hold").unlink()

    thread = threading.Thread(target=declare_dead)
    thread.start()
    Worker(known, plan(url, tmp_path, trials=1, heartbeat=1), lambda trial: None).run()
    thread.join()
    assert [trial.state for trial in known.trials] == [TrialState.FAIL, TrialState.COMPLETE]
    assert len(starts(tmp_path)["0000"]) == 2


def test_logs_are_artifacts(url, tmp_path):
    Worker(study(url), plan(url, tmp_path, trials=1), lambda trial: None).run()
    (trial,) = study(url).trials
    storage = study(url)._storage
    (meta,) = optuna.artifacts.get_all_artifact_meta(trial, storage=storage)
    assert meta.filename == "log-tail.txt"
    assert "x is 0.5" in (tmp_path / "artifacts" / meta.artifact_id).read_text()
