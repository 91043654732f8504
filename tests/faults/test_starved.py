"""Full disks, folders that cannot be written, no memory, a clock that jumps, a broken loss."""

import json
import os
import shutil
import subprocess

import pytest
import torch

from gile_testing import stages
from gile_testing.stages import STAGES, run


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    known = {}

    def find(name):
        if name not in known:
            folder = tmp_path_factory.mktemp(name) / "work"
            folder.mkdir()
            assert run(STAGES[name], folder).status == 0
            known[name] = STAGES[name].result(folder)
        return known[name]

    return find


def refused(ended, *words):
    """Whether a command has left with one line that names the trouble, and no traceback."""
    assert ended.status == 2, ended.printed
    assert "Traceback" not in ended.printed, ended.printed
    (line,) = [x for x in ended.printed.splitlines() if x.startswith("error: ")]
    assert any(word in line for word in words), line


# sizes that let some files through, and refuse the first large one; sweeps and tables are below
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("encoding", 20_000),
        ("vectors", 200_000),
        ("fit", 120_000),
        ("evaluation", 20_000),
        ("predict", 20_000),
        ("export", 20_000),
    ],
)
def test_files_that_may_not_grow(name, size, tmp_path, expected):
    known, folder = expected(name), tmp_path / "work"
    folder.mkdir()
    refused(run(STAGES[name], folder, bytes=size), "File too large")
    assert run(STAGES[name], folder).status == 0
    assert STAGES[name].result(folder) == known


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of its own, with room for so many bytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = []

    def mount(size):
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("only root may mount a small disk")
        mounted.append(place)
        (place / "work").mkdir()
        return place / "work"

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *(("encoding", 100_000), ("fit", 900_000), ("vectors", 700_000), ("evaluation", 60_000)),
        *(("predict", 60_000), ("export", 200_000)),
    ],
)
def test_a_full_disk(name, size, small_disk, tmp_path, expected):
    known, folder = expected(name), small_disk(size)
    refused(run(STAGES[name], folder), "No space left on device")
    with_room = tmp_path / "work"
    shutil.copytree(folder, with_room)  # which keeps its times, of which no key is made
    ended = run(STAGES[name], with_room)
    assert ended.status == 0, ended.printed
    assert STAGES[name].result(with_room) == known


@pytest.mark.parametrize("name", ["sweep", "reproduce"])
def test_a_full_disk_under_many_fits(name, small_disk, tmp_path, expected):
    """The study's database is on it, too."""
    known, folder = expected(name), small_disk(900_000)
    ended = run(STAGES[name], folder, outage=0.01)
    assert ended.status in (1, 2), ended.printed
    assert "Traceback" not in ended.printed, ended.printed
    with_room = tmp_path / "work"
    shutil.copytree(folder, with_room)
    ended = run(STAGES[name], with_room)
    assert ended.status == 0, ended.printed
    assert STAGES[name].result(with_room) == known


@pytest.mark.parametrize("name", STAGES)
def test_folders_that_cannot_be_written(name, tmp_path, expected):
    known, folder = expected(name), tmp_path / "work"
    folder.mkdir()
    STAGES[name].arguments(folder)  # which writes what the command reads
    folder.chmod(0o555)
    refused(run(STAGES[name], folder, humble=True), "ermission denied", "unable to open database")
    folder.chmod(0o755)
    assert run(STAGES[name], folder).status == 0
    assert STAGES[name].result(folder) == known


def test_a_home_that_cannot_be_written(tmp_path, monkeypatch):
    home, folder = tmp_path / "home", tmp_path / "work"
    home.mkdir(mode=0o555)
    folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME")
    given = stages.fitting(folder)
    at = given.index("--data.cache_dir")
    stage = STAGES["fit"]._replace(arguments=lambda folder: [*given[:at], *given[at + 2 :]])
    refused(run(stage, folder, humble=True), "ermission denied: '", "ermission denied; what is")
    assert run(STAGES["fit"], folder, humble=True).status == 0  # with a cache elsewhere


# not `predict`, which needs less than the interpreter's own steps
@pytest.mark.parametrize("name", ["encoding", "vectors", "fit", "evaluation"])
def test_no_memory(name, tmp_path, expected):
    known, folder = expected(name), tmp_path / "work"
    folder.mkdir()
    refused(run(STAGES[name], folder, memory=8), "out of memory: ")
    assert run(STAGES[name], folder).status == 0
    assert STAGES[name].result(folder) == known


def test_a_clock_that_jumps(tmp_path, expected):
    for name in ("fit", "sweep"):
        folder = tmp_path / f"{name}/work"
        folder.mkdir(parents=True)
        ended = run(STAGES[name], folder, clock=86_400)
        assert ended.status == 0, ended.printed
        assert STAGES[name].result(folder) == expected(name)


def test_a_loss_that_is_no_number(tmp_path, expected):
    folder = tmp_path / "work"
    folder.mkdir()
    broken = {"class_path": "gile_testing.processes.Break", "init_args": {"rank": 0, "step": 4}}
    callbacks = ("--trainer.callbacks", json.dumps([broken]))
    stage = STAGES["fit"]._replace(arguments=lambda folder: stages.fitting(folder, *callbacks))
    refused(run(stage, folder), "the loss of step 4 is not finite: training diverged")
    last = torch.load(folder / "run/checkpoints/last.ckpt", weights_only=True)
    assert last["global_step"] == 3
    assert run(STAGES["fit"], folder).status == 0
    assert STAGES["fit"].result(folder) == expected("fit")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a full /dev/shm")
def test_a_full_shared_memory(tmp_path, expected):
    """Texts are split by processes, whose queues have locks there."""
    folder = tmp_path / "work"
    folder.mkdir()
    given = [*stages.fitting(folder)[:-2], "--data.num_proc", "3"]
    stage = STAGES["encoding"]._replace(arguments=lambda folder: given)
    refused(run(stage, folder, shared=True), "No space left on device")
    assert run(stage, folder).status == 0
    assert STAGES["encoding"].result(folder) == expected("encoding")
