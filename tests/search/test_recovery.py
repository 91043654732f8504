"""Trials of workers that are gone, and which of them are tried again."""

import optuna
import pytest
from optuna.trial import TrialState

from gile_lightning.commands.launcher import LOCK, lock
from gile_lightning.search import recovery as module
from gile_lightning.search.recovery import (
    OUTCOME,
    WORKER,
    counted,
    cut_off,
    outcome,
    recover,
    repeat,
    repeated,
)

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


def test_repetitions_count_once():
    study = optuna.create_study()
    for number in range(3):
        trial = study.ask()
        trial.suggest_float("x", 0, 1)
        study.tell(trial, float(number))
    assert counted(study.trials) == 3
    repeat(study, study.trials[1])
    repeat(study, study.trials[3])
    assert counted(study.trials) == 3
    assert repeated(study.trials) == {1, 3}
    assert [trial.params for trial in study.trials[3:]] == [study.trials[1].params] * 2
    assert study.trials[3].system_attrs["retry_history"] == [1]
    assert study.trials[4].system_attrs["retry_history"] == [1, 3]


@pytest.mark.parametrize(
    ("outcomes", "again"),
    [
        (["complete: in the storage's view it is not"], True),
        (["failed: out of memory"], False),
        (["interrupted"], True),
        (["killed", "begun by someone", None], False),
        (["killed", "interrupted", "killed"], True),
        (["killed", "interrupted", "killed", "killed"], False),
        (["killed", "failed: out of memory"], False),
    ],
)
def test_what_is_tried_again(outcomes, again):
    study = optuna.create_study()
    for number, told in enumerate(outcomes):
        trial = study.ask()
        assert trial.number == number
        if told is not None:
            trial.set_user_attr(OUTCOME, told)
        study.tell(trial, state=TrialState.FAIL)
        if number + 1 < len(outcomes):
            repeat(study, study.trials[-1])
            assert OUTCOME not in study.trials[-1].user_attrs
    assert [trial.number for trial in cut_off(study.trials, 2)] == [len(outcomes) - 1] * again


def test_trials_of_workers_that_are_gone(tmp_path):
    study = optuna.create_study()
    for name in ("held", "free", "other"):
        (tmp_path / name).mkdir()
        trial = study.ask()
        trial.set_user_attr(OUTCOME, "begun")
        trial.set_user_attr("folder", name)
        trial.set_user_attr(WORKER, "me" if name != "other" else "another machine's")
        (tmp_path / name / LOCK).write_text("me")
    here = lock(tmp_path / "held")
    study.ask()  # just now: its worker may be about to say more
    recover(study, tmp_path, retries=1, heartbeats=True)  # a database's own business
    assert [trial.state for trial in study.trials] == [TrialState.RUNNING] * 4
    recover(study, tmp_path, retries=1, heartbeats=False)
    found = [trial.state.name for trial in study.trials]
    assert found == ["RUNNING", "FAIL", "RUNNING", "RUNNING", "WAITING"]
    here.close()


def test_a_trial_that_never_began_is_failed_after_a_while(tmp_path, monkeypatch):
    study = optuna.create_study()
    study.ask()
    monkeypatch.setattr(module, "_UNSTARTED", 0.0)
    recover(study, tmp_path, retries=1, heartbeats=True)
    assert [trial.state for trial in study.trials] == [TrialState.FAIL, TrialState.WAITING]
    assert outcome(study.trials[0]) == "its worker vanished before it began"
