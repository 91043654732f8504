"""Disk space is said beforehand."""

import shutil
from types import SimpleNamespace

import pytest

from gile_lightning.common.disk import tell_space


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (99e6, ""),
        (1.26e9, "vectors will take about 1.3 GB of disk in {}, where 20.0 GB are free\n"),
        (
            21e9,
            "vectors will take about 21.0 GB of disk in {}, where 20.0 GB are free: move them\n",
        ),
    ],
)
def test_much_or_too_much_is_said(size, said, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=20e9))
    # standard output is for results
    tell_space("vectors", size, tmp_path, "move them")
    assert capsys.readouterr() == ("", said.format(tmp_path))
