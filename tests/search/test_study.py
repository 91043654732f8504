"""A study continues as it was begun, in a folder of its own."""

import sqlite3
from contextlib import closing

import optuna
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.search import study as studies_module
from gile_lightning.search.settings import Search
from gile_lightning.search.space import read_space
from gile_lightning.search.storage import open_storage
from gile_lightning.search.study import (
    FORMAT,
    ID,
    NUMBER,
    begun_in,
    best,
    claim,
    differences,
    join,
)
from gile_testing import studies
from gile_testing.studies import SPACE

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")

CORPUS = {"documents": {"train": 9}}
CONFIGURATION = "model: {dim: 1}\ntrainer: {devices: 1, max_epochs: 3}\n"


@pytest.fixture
def joined(tmp_path):
    """Makes a study in one place, or joins it."""

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
        ({"goals": {"val/f1": "maximize", "seconds": "minimize"}}, "was begun to maximize val/f1"),
        ({"space": read_space({"x": {"choices": [0.5]}})}, "x: the study study was begun with"),
        ({"space": read_space({"y": {"choices": [1]}})}, "study was begun with x in its space"),
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


def test_a_study_of_an_earlier_version_goes_on(joined, tmp_path):
    study = joined()
    assert study.user_attrs[NUMBER] == FORMAT == 1
    storage = open_storage(f"journal://{tmp_path}/study.log")
    older = {key: value for key, value in study.user_attrs.items() if key != NUMBER}
    storage.delete_study(study._study_id)
    by_hand = optuna.create_study(study_name="study", storage=storage, direction="maximize")
    for key, value in older.items():
        by_hand.set_user_attr(key, value)
    assert joined().user_attrs[ID] == older[ID]
    by_hand.set_user_attr(NUMBER, FORMAT + 1)
    with pytest.raises(InputError, match=r"the study study: of format 2, .* install a newer one"):
        joined()


def test_a_study_that_no_sweep_has_begun(joined, tmp_path, monkeypatch):
    monkeypatch.setattr(studies_module, "_PATIENCE", 1)
    storage = open_storage(f"journal://{tmp_path}/study.log")
    optuna.create_study(study_name="study", storage=storage, direction="maximize")
    with pytest.raises(InputError, match=r"not begun by gile_lightning.sweep; name another study"):
        joined()


def test_a_database_of_another_version_of_optuna(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    open_storage(url)
    with closing(sqlite3.connect(tmp_path / "study.db")) as connection, connection as database:
        database.execute("UPDATE alembic_version SET version_num = 'v99.0.0.a'")
    with pytest.raises(InputError, match=r"study.db: The runtime optuna version .* pip install -U"):
        open_storage(url)
    with closing(sqlite3.connect(tmp_path / "study.db")) as connection, connection as database:
        database.execute("UPDATE alembic_version SET version_num = 'v0.9.0.a'")
    with pytest.raises(InputError, match=r"study.db: The runtime .* optuna storage upgrade"):
        open_storage(url)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(url):
    with pytest.raises(InputError, match=r"lost with its process; name a file, as in sqlite:///"):
        open_storage(url)


def test_differences():
    before = "a: {b: 1, c: [1, 2]}\ntrainer: {devices: 2}\ntest: true\nwandb: {tags: null}\n"
    now = "a: {b: 1, c: [1, 3], d: null}\ntrainer: {devices: 4}\ntest: false\nwandb: {tags: [x]}\n"
    assert differences(before, now) == ["a.c was [1, 2], is [1, 3]"]
    assert differences(before, before) == []


def test_a_folder_belongs_to_one_study(joined, tmp_path):
    folder = tmp_path / "folder"
    (folder / "trials").mkdir(parents=True)
    claim(joined(), folder)
    (folder / "trials/0000").mkdir()
    (file,) = folder.glob("study.*")
    file.chmod(0o444)
    written = file.stat()
    claim(joined(), folder)  # which writes nothing, as other workers may read it now
    assert file.stat() == written
    storage = open_storage(f"journal://{tmp_path}/other.log")
    other = join(storage, "study", Search(), SPACE, studies.GOALS, CONFIGURATION, CORPUS)
    with pytest.raises(InputError, match="holds trials of another study than study"):
        claim(other, folder)
    assert begun_in(storage, tmp_path / "new") is None
    with pytest.raises(InputError, match="holds trials of a study that the storage does not have"):
        begun_in(storage, folder)
    moved = folder.rename(tmp_path / "moved")
    assert begun_in(open_storage(f"journal://{tmp_path}/study.log"), moved) == "study"


def test_the_best_of_one_and_two_objectives():
    single = optuna.create_study(direction="maximize")
    assert best(single) == []
    double = optuna.create_study(directions=["maximize", "minimize"])
    for value, seconds in ((1.0, 5.0), (3.0, 9.0), (2.0, 9.0)):
        single.tell(single.ask(), value)
        double.tell(double.ask(), [value, seconds])
    assert [trial.number for trial in best(single)] == [1]
    assert [trial.number for trial in best(double)] == [0, 1]
