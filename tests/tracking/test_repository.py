import pytest

from gile_lightning.tracking.repository import repository
from gile_testing import offline


def test_of_the_working_directory(tmp_path, monkeypatch):
    commit = offline.commit(tmp_path)
    if commit is None:
        pytest.skip("no git")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    found = repository()
    assert found is not None
    assert (found.folder, found.commit) == (tmp_path.resolve(), commit)


def test_without_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert repository() is None
