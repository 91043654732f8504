"""A folder is written by one export at a time, and anew after one that was cut off."""

import errno
import os

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.exporting.new_folder import UNFINISHED, new_folder


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def cut_off(folder):
    """Leave behind what a command does that was killed."""
    (folder / "english").mkdir(parents=True)
    for name in (UNFINISHED, "model.safetensors", "english/.labels.jsonl.17"):
        (folder / name).write_text("half")


@pytest.mark.parametrize("made", [False, True])
def test_new_and_empty_folders(made, tmp_path):
    if made:
        (tmp_path / "model").mkdir()
    with new_folder(tmp_path / "model") as folder:
        (folder / "config.json").write_text("{}")
    assert names(tmp_path / "model") == ["config.json"]


def test_an_export_that_was_cut_off_begins_anew(tmp_path):
    cut_off(tmp_path / "model")
    with new_folder(tmp_path / "model") as folder:
        assert names(folder) == [UNFINISHED]
        (folder / "config.json").write_text("{}")
    assert names(tmp_path / "model") == ["config.json"]


def test_a_file_and_a_folder_with_files_are_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path, tmp_path / "file"):
        with (
            pytest.raises(InputError, match="holds files already; choose another --output"),
            new_folder(place),
        ):
            pass
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("before", [False, True])
def test_two_at_once(before, tmp_path):
    if before:
        cut_off(tmp_path / "model")
    with new_folder(tmp_path / "model") as folder:
        (folder / "config.json").write_text("{}")
        with (
            pytest.raises(InputError, match="another export writes it; wait, or choose"),
            new_folder(folder),
        ):
            pass
    assert names(tmp_path / "model") == ["config.json"]


def test_an_error_before_anything_is_written_leaves_nothing(tmp_path):
    with pytest.raises(InputError), new_folder(tmp_path / "model"):
        raise InputError("no such checkpoint")
    assert not (tmp_path / "model").exists()
    (tmp_path / "model").mkdir()
    with pytest.raises(InputError), new_folder(tmp_path / "model"):
        raise InputError("no such checkpoint")
    assert names(tmp_path / "model") == []


def test_a_disk_that_is_full_meanwhile(tmp_path):
    def write(folder):
        (folder / "model.safetensors").write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left"), new_folder(tmp_path / "model") as folder:
        write(folder)
    with new_folder(tmp_path / "model") as folder:
        assert names(folder) == [UNFINISHED]
