"""Studies are gone on with as they were begun, and trials without a worker are found."""

import optuna
import pytest
from optuna.trial import TrialState

from gile_lightning.commands.launcher import LOCK, lock
from gile_lightning.common.errors import InputError
from gile_lightning.search import study as module
from gile_lightning.search.settings import Search
from gile_lightning.search.space import read_space
from gile_lightning.search.storage import open_storage
from gile_lightning.search.study import (
    best,
    claim,
    counted,
    cut_off,
    differences,
    join,
    recover,
    repeat,
    repeated,
)
from gile_testing import studies
from gile_testing.studies import SPACE

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")

CORPUS = {"documents": {"train": 9}}
CONFIGURATION = "model: {dim: 1}\ntrainer: {devices: 1, max_epochs: 3}\n"


@pytest.fixture
def joined(tmp_path):
    """Makes a study in one place, or goes on with it."""

    def joined(space=SPACE, goals=studies.GOALS, configuration=CONFIGURATION, corpus=CORPUS):
        storage = open_storage(f"journal://{tmp_path}/study.log")
        return join(storage, "study", Search(), space, goals, configuration, corpus)

    return joined


def test_it_goes_on_with_the_same(joined):
    joined().enqueue_trial({"x": 0.5})
    assert len(joined().trials) == 1
    # another machine, and bounds that are closer
    joined(configuration=CONFIGURATION.replace("devices: 1", "devices: 2"))
    joined(read_space({"x": {"type": "float", "low": 0.2, "high": 0.3}}))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"configuration": "model: {dim: 2}\n"}, "model.dim was 1, is 2; trainer.max_epochs was 3"),
        ({"corpus": {"documents": {"train": 8}}}, "was begun on another corpus"),
        ({"goals": {"val/f1": "minimize"}}, "was begun to maximize val/f1"),
        ({"goals": {"seconds": "minimize"}}, "was begun to maximize val/f1"),
        ({"goals": {"val/f1": "maximize", "seconds": "minimize"}}, "was begun to maximize val/f1"),
        ({"space": read_space({"x": {"choices": [0.5]}})}, "x: the study study was begun with"),
    ],
)
def test_it_does_not_with_anything_else(joined, change, problem):
    study = joined()
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    study.tell(trial, 1.0)
    with pytest.raises(InputError) as error:
        joined(**change)
    assert problem in str(error.value)
    assert "name another study (sweep.study)" in str(error.value)


def test_differences():
    before = "a: {b: 1, c: [1, 2]}\ntrainer: {devices: 2}\ntest: true\nwandb: {tags: null}\n"
    now = "a: {b: 1, c: [1, 3], d: null}\ntrainer: {devices: 4}\ntest: false\nwandb: {tags: [x]}\n"
    assert differences(before, now) == ["a.c was [1, 2], is [1, 3]"]
    assert differences(before, before) == []


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
        (["interrupted"] * 4, True),
        (["killed: by SIGKILL"], True),
        (["killed", "begun by someone"], True),
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
            trial.set_user_attr(module.OUTCOME, told)
        study.tell(trial, state=TrialState.FAIL)
        if number + 1 < len(outcomes):
            repeat(study, study.trials[-1])
            assert module.OUTCOME not in study.trials[-1].user_attrs
    assert [trial.number for trial in cut_off(study.trials, 2)] == [len(outcomes) - 1] * again


def test_a_folder_belongs_to_one_study(joined, tmp_path):
    folder = tmp_path / "folder"
    (folder / "trials").mkdir(parents=True)
    claim(joined(), folder)
    (folder / "trials/0000").mkdir()
    claim(joined(), folder)
    storage = open_storage(f"journal://{tmp_path}/other.log")
    other = join(storage, "study", Search(), SPACE, studies.GOALS, CONFIGURATION, CORPUS)
    with pytest.raises(InputError, match="holds trials of another study than study"):
        claim(other, folder)


def test_trials_of_workers_that_are_gone(joined, tmp_path):
    study = joined()
    for name in ("held", "free", "other"):
        (tmp_path / name).mkdir()
        trial = study.ask()
        trial.set_user_attr(module.OUTCOME, "begun")
        trial.set_user_attr("folder", name)
        trial.set_user_attr(module.WORKER, "me" if name != "other" else "another machine's")
        (tmp_path / name / LOCK).write_text("me")
    here = lock(tmp_path / "held")
    study.ask()  # just now: its worker may be about to say more
    recover(study, tmp_path, retries=1, heartbeats=True)  # a database's own business
    assert [trial.state for trial in study.trials] == [TrialState.RUNNING] * 4
    recover(study, tmp_path, retries=1, heartbeats=False)
    found = [trial.state.name for trial in study.trials]
    assert found == ["RUNNING", "FAIL", "RUNNING", "RUNNING", "WAITING"]
    here.close()


def test_a_trial_that_never_began_is_failed_after_a_while(joined, tmp_path, monkeypatch):
    study = joined()
    study.ask()
    monkeypatch.setattr(module, "_UNSTARTED", 0.0)
    recover(study, tmp_path, retries=1, heartbeats=True)
    assert [trial.state for trial in study.trials] == [TrialState.FAIL, TrialState.WAITING]
    assert module.outcome(study.trials[0]) == "its worker vanished before it began"


def test_the_best_of_one_and_two_objectives():
    single = optuna.create_study(direction="maximize")
    assert best(single) == []
    double = optuna.create_study(directions=["maximize", "minimize"])
    for value, seconds in ((1.0, 5.0), (3.0, 9.0), (2.0, 9.0)):
        single.tell(single.ask(), value)
        double.tell(double.ask(), [value, seconds])
    assert [trial.number for trial in best(single)] == [1]
    assert [trial.number for trial in best(double)] == [0, 1]
