"""The server that forks fits: what they are given, and what ends them."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gile_lightning.commands import fork_server
from gile_lightning.commands import launcher as module
from gile_lightning.commands.fork_server import ForkServer
from gile_lightning.commands.launcher import Launcher, lock
from gile_testing.children import alive, environment, started, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="fits are forked on Linux alone")

PROGRAM = """
import json, os, pathlib, signal, sys, time
import __main__

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[sys.argv.index("--output") + 1])
    told = {
        "spec": __main__.__spec__.name,
        "name": pathlib.Path(sys.argv[0]).name,
        "arguments": sys.argv[1:],
        "variables": [os.environ.get(x) for x in ("X", "OMP_NUM_THREADS", "SLURM_PROCID")],
        "group": os.getpgid(0) == os.getpid(),
        "input": sys.stdin.read(),
        "threads": sys.modules["torch"].get_num_threads(),
        "cuda": sys.modules["torch"].cuda.is_initialized(),
        "default": signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL,
        "server": os.getppid(),
        "process": os.getpid(),
    }
    (folder / "partial").write_text(json.dumps(told))
    (folder / "partial").rename(folder / "told")
    print("printed")
    print("an error", file=sys.stderr)
    if "--wait" in sys.argv:
        time.sleep(99)
    if "--kill" in sys.argv:
        os.kill(os.getpid(), 9)
    sys.exit(3)
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A module, whose name every process can import."""
    (tmp_path / "stand_in_of_fit.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setattr(module, "_PAUSE", 0.02)
    return ("-m", "stand_in_of_fit")


def fit(folder, program, *calls):
    """Run the program once for each list of arguments, in turn; returns how each has ended."""
    launcher, status = Launcher(threads=2), []

    def work(slot):
        for arguments in calls:
            with lock(folder) as held:
                status.append(launcher.fit(slot, folder, arguments, held, program, {"X": "x"}))

    launcher.run(work)
    return status


def test_a_fit_is_the_main_program_of_a_process_of_its_own(tmp_path, program):
    folder = tmp_path / "run"
    assert fit(folder, program, ["--kill"], ["--epochs", "2"]) == [-signal.SIGKILL, 3]
    told = json.loads((folder / "told").read_text())
    assert len({told.pop("server"), told.pop("process"), os.getpid()}) == 3
    assert told.pop("arguments")[:2] == ["--epochs", "2"]
    assert told == {
        **{"spec": program[1], "name": f"{program[1]}.py", "variables": ["x", "2", None]},
        **{"group": True, "input": "", "threads": 2, "cuda": False, "default": True},
    }
    log = (folder / "log.txt").read_text()
    assert f"python -m {program[1]} --epochs 2 " in log
    assert {"printed", "an error"} <= set(log.splitlines())


def test_the_lock_is_the_fits_as_well_and_both_end_with_the_launcher(tmp_path, program):
    code = textwrap.dedent(f"""
        import sys, pathlib
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import test_fork_server as here
        here.fit(pathlib.Path({str(tmp_path / "run")!r}), {program!r}, ["--wait"])
    """)
    with started("-c", code) as command:
        wait_for(lambda: (tmp_path / "run/told").is_file() or command.poll() is not None)
        command.kill()
        command.wait()
    told = json.loads((tmp_path / "run/told").read_text())
    wait_for(lambda: not alive(told["server"]) and not alive(told["process"]))
    with lock(tmp_path / "run") as held:  # which the fit no longer has
        assert held is not None


def test_without_a_server_fits_are_started_as_ever(tmp_path, program, monkeypatch):
    monkeypatch.setattr(ForkServer, "start", lambda *args: None)
    (tmp_path / "stand_in_of_fit.py").write_text("import sys; print('ended'); sys.exit(4)")
    assert fit(tmp_path / "run", program, []) == [4]
    assert "ended" in (tmp_path / "run/log.txt").read_text()


def test_imports_of_the_server_start_nothing_that_a_fork_would_break():
    """Neither CUDA nor threads of a computation; Arrow's allocator and BLAS mind forks."""
    code = f"""if True:
        import importlib, os, threading, torch
        def touched(*args, **kwargs):
            raise AssertionError("CUDA")
        torch.cuda.is_available = torch.cuda.device_count = torch.cuda._lazy_init = touched
        for name in {fork_server._PRELOAD}:
            importlib.import_module(name)
        tasks = os.listdir("/proc/self/task")
        names = [open(f"/proc/self/task/{{task}}/comm").read().strip() for task in tasks]
        assert threading.active_count() == 1
        assert len(names) - names.count("jemalloc_bg_thd") == 1, names
    """
    variables = environment(OMP_NUM_THREADS="4", OPENBLAS_NUM_THREADS="1")
    subprocess.run([sys.executable, "-c", code], check=True, env=variables)


def test_a_process_that_was_seen_to_while_others_are_looked_at():
    """A signal may come within the function that it calls."""
    done, ended = subprocess.Popen(["true"]), subprocess.Popen(["false"])
    done.wait()  # as the function would have done within itself
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    running = {done.pid: theirs.dup(), ended.pid: theirs}
    while ended.pid in running:
        fork_server._reap(running)
    ended.returncode = 1
    assert ours.recv(64) == b"1"
    running[done.pid].close()
    ours.close()
