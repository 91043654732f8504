import json
import math
import os
import time
from pathlib import Path

import pytest
from jsonargparse import Namespace

from gile_lightning.commands.run_folder import (
    METRICS,
    config_name,
    read_metrics,
    run_folder,
    write_metrics,
)
from gile_lightning.common.errors import InputError

LAST = "checkpoints/last.ckpt"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def folder(output=None, ckpt_path=None):
    """Return the folder, and the checkpoint to resume, of a run of `bioasq.yaml`."""
    files = ["sweeps/bioasq.yaml", "mine.yaml"]
    return run_folder(Namespace(config=files, output=output, ckpt_path=ckpt_path))


def killed(folder, seconds_ago=0):
    """Make what a run leaves when it was killed; return its last checkpoint."""
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "config.yaml").touch()
    (folder / LAST).touch()
    os.utime(folder / LAST, (time.time() - seconds_ago,) * 2)
    return folder / LAST


def test_a_run_folder_has_the_name_of_its_configuration():
    output, resume = folder()
    assert output.parts[:2] == ("runs", "bioasq")
    assert time.strptime(output.name, "%Y-%m-%d_%H-%M-%S")
    assert resume is None
    assert not output.exists()


def test_a_run_that_goes_on_from_elsewhere_is_killed_before_its_first_checkpoint(tmp_path):
    earlier = killed(tmp_path / "earlier")
    (tmp_path / "new").mkdir()
    (tmp_path / "new/config.yaml").touch()
    (tmp_path / "new/ckpt_path.txt").write_text(f"{earlier}\n")
    assert folder("new", "last") == (Path("new"), earlier)
    with pytest.raises(InputError, match="new: holds a run already"):
        folder("new", str(earlier))
    earlier.unlink()
    with pytest.raises(InputError, match=r"last\.ckpt: the checkpoint that new goes on from is"):
        folder("new", "last")
    (tmp_path / "new/checkpoints").mkdir()
    (tmp_path / "new" / LAST).touch()
    assert folder("new", "last") == (Path("new"), Path("new") / LAST)


def test_a_file_is_no_run_folder(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError, match=r"notes\.txt: a file; give the name of a folder"):
        folder(output="notes.txt")


def test_the_home_of_a_user(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert folder(output="~/run") == (tmp_path / "run", None)
    (tmp_path / "one.ckpt").touch()
    assert folder("~/run", "~/one.ckpt") == (tmp_path / "run", tmp_path / "one.ckpt")


def test_a_file_that_is_laid_over_another_gives_the_name(tmp_path):
    (tmp_path / "first.yaml").write_text("data: {}")
    (tmp_path / "mine.yaml").write_text("base: first.yaml")
    parsed = [str(tmp_path / "first.yaml"), str(tmp_path / "mine.yaml")]  # as the parser has them
    assert config_name(Namespace(config=[*parsed, "more.yaml"]), "fit") == "mine"
    assert config_name(Namespace(config=parsed[:1]), "fit") == "first"
    assert config_name(Namespace(config=None), "sweep") == "sweep"


@pytest.mark.parametrize(
    ("rank", "refused"),
    [
        *[(None, True), ("SLURM_PROCID", False), ("RANK", False)],
        *[("LOCAL_RANK", False), ("NODE_RANK", False), ("GROUP_RANK", False)],
    ],
)
def test_a_folder_of_another_run(tmp_path, monkeypatch, rank, refused):
    """The first of several processes may have made it before the others look."""
    killed(tmp_path / "run")
    monkeypatch.setenv("LOCAL_RANK", "0")
    if rank is not None:
        monkeypatch.setenv(rank, "1")
    if refused:
        with pytest.raises(InputError, match="holds a run already; go on with it"):
            folder(tmp_path / "run")
    else:
        assert folder(tmp_path / "run") == (tmp_path / "run", None)


def test_a_checkpoint_by_its_path_or_as_the_last_of_its_run(tmp_path):
    last = killed(tmp_path / "run")
    assert folder(tmp_path / "run", "last") == (tmp_path / "run", last)
    assert folder(tmp_path / "new", str(last)) == (tmp_path / "new", last)


def test_the_last_of_all_runs_is_the_newest(tmp_path):
    for name, age in (("a", 50), ("b", 10), ("c", 30)):
        killed(tmp_path / "runs/bioasq" / name, age)
    killed(tmp_path / "runs/other/d")
    assert folder(ckpt_path="last")[1].parts[-3:] == ("b", "checkpoints", "last.ckpt")


def test_killed_before_the_first_checkpoint_or_done(tmp_path, capsys):
    killed(tmp_path / "run").unlink()
    assert folder(tmp_path / "run", "last") == (tmp_path / "run", None)
    assert "has no checkpoint yet: starting from the beginning" in capsys.readouterr().out
    (tmp_path / "run/metrics.json").touch()
    with pytest.raises(InputError, match=r"run: done, and without checkpoints/last\.ckpt"):
        folder(tmp_path / "run", "last")


@pytest.mark.parametrize(
    ("output", "path", "error"),
    [
        (None, "last", "runs/bioasq: no run to go on with"),
        ("empty", "last", "empty: no run there to go on with"),
        ("empty", "none.ckpt", r"none\.ckpt: no such checkpoint \(--ckpt_path\)"),
    ],
)
def test_nothing_to_go_on_with(output, path, error):
    with pytest.raises(InputError, match=error):
        folder(output, path)


def test_figures_have_a_number_and_those_of_earlier_versions_are_read(tmp_path):
    write_metrics(tmp_path, {"f1": 0.5})
    assert json.loads((tmp_path / METRICS).read_text()) == {"format": 1, "f1": 0.5}
    assert read_metrics(tmp_path) == {"f1": 0.5}
    (tmp_path / METRICS).write_text('{"f1": 0.25}')
    assert read_metrics(tmp_path) == {"f1": 0.25}
    write_metrics(tmp_path, {"f1": math.nan, "val.f1": -math.inf, "n": 3})
    assert json.loads((tmp_path / METRICS).read_text(), parse_constant=pytest.fail) == {
        "format": 1, "f1": None, "val.f1": None, "n": 3,
    }  # fmt: skip
    assert read_metrics(tmp_path) == pytest.approx(
        {"f1": math.nan, "val.f1": math.nan, "n": 3}, nan_ok=True
    )
    (tmp_path / METRICS).write_text('{"format": 2, "f1": 0.25}')
    with pytest.raises(InputError, match=rf"{tmp_path / METRICS}: of format 2, .* a newer one"):
        read_metrics(tmp_path)
    for content in ("[]", '{"f1": 0.'):
        (tmp_path / METRICS).write_text(content)
        with pytest.raises(ValueError, match=r"JSON object|Expecting|delimiter"):
            read_metrics(tmp_path)
