"""Fits in slots: what ends them, and what they are given. A script takes the place of `fit`."""

import os
import time
from pathlib import Path

import pytest

from gile_lightning.commands import launcher as module
from gile_lightning.commands.launcher import Launcher, lock, tail

PROGRAM = """if True:
    import os, subprocess, sys, time
    folder = sys.argv[sys.argv.index("--output") + 1]
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)"])
    open(f"{folder}/partial", "w").write(f"{os.getpid()} {child.pid}")
    os.rename(f"{folder}/partial", f"{folder}/pids")
    print("last", os.environ["X"], "SLURM_PROCID" in os.environ, *sys.argv[1:])
    time.sleep(0 if "--end" in sys.argv else 99)
    sys.exit(3)
"""


def fit(launcher, slot, folder, *arguments):
    with lock(folder) as held:
        return launcher.fit(slot, folder, arguments, held, ("-c", PROGRAM), {"X": "x"})


def gone(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")  # Z: ended, but nobody has asked how
    return stat.is_file() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(module, "_PAUSE", 0.01)
    monkeypatch.setenv("SLURM_PROCID", "0")


def test_an_error_in_one_slot_ends_the_fits_of_the_others_and_their_children(tmp_path):
    launcher = Launcher(2)

    def work(slot):
        if slot == 0:
            fit(launcher, slot, tmp_path / "run")
        while not (tmp_path / "run/pids").is_file():
            time.sleep(0.01)
        raise ValueError("the other one")

    with pytest.raises(ValueError, match="the other one"):
        launcher.run(work)
    pids = (tmp_path / "run/pids").read_text().split()
    deadline = time.monotonic() + 20
    while not all(map(gone, pids)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with lock(tmp_path / "run") as held:
        assert held is not None
        assert lock(tmp_path / "run") is None


def test_a_fit_has_its_slots_devices_and_goes_on_if_it_was_begun(tmp_path):
    launcher = Launcher(2, ["0,1", "2,3"])
    status = []
    for _ in range(2):
        launcher.run(lambda slot: status.append(fit(launcher, slot, tmp_path / f"{slot}", "--end")))
        for slot in (0, 1):
            (tmp_path / f"{slot}/config.yaml").touch()
    assert status == [3] * 4
    last = tail(tmp_path / "1", 1).split()
    assert last[:3] == ["last", "x", "False"]  # no task of the launcher's own job
    options = dict(zip(last[4::2], last[5::2], strict=True))
    assert options["--trainer.devices"] == "2"
    assert options["--ckpt_path"] == "last"
    log = (tmp_path / "1/log.txt").read_text()
    assert log.count("--trainer.devices") == 4  # as it was started, and as it printed them
    assert log.count("--ckpt_path") == 2


def test_the_tail_of_a_log_is_what_the_process_said(tmp_path):
    """Not what a library lists at the exit: of a failed trial only this would be seen."""
    listed = "nanobind: leaked 513 functions!\n" + ' - leaked function "f"\n' * 20
    listed += " - ... skipped remainder\nnanobind: this is caused by a reference counting issue.\n"
    listed += "See https://nanobind.readthedocs.io/en/latest/refleaks.html\n"
    (tmp_path / "log.txt").write_text(f"epoch 1\n{listed}epoch 2\nerror: no memory\n{listed}")
    assert tail(tmp_path, 2) == "epoch 2\nerror: no memory"
    assert tail(tmp_path) == "epoch 1\nepoch 2\nerror: no memory"
