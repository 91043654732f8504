"""A study on two nodes that share a database and no disk: networks and host names of their own."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from gile_lightning.search.recovery import counted, first_number, repeated
from gile_testing import children, studies
from gile_testing.postgresql import server

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")

NODES, BRIDGE, NETWORK = ("gile-node-1", "gile-node-2"), "gile-bridge", "10.199.77"
TRIALS = 16


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def processes_of(node: str) -> list[int]:
    found = subprocess.check_output(["ip", "netns", "pids", node], text=True)
    return [int(line) for line in found.split()]


def kill(node: str) -> None:
    """End all that runs on a node at once, as if its power were cut."""
    for pid in processes_of(node):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def database():
    """Two nodes on a bridge, and a database that listens there alone."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
        pytest.skip("networks of their own need root, iproute2 and util-linux")
    with contextlib.ExitStack() as stack:
        try:
            ip("link", "add", BRIDGE, "type", "bridge")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no networks here: {error.stderr.decode().strip()}")
        stack.callback(ip, "link", "del", BRIDGE)
        ip("addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for number, node in enumerate(NODES, 2):
            ip("netns", "add", node)
            stack.callback(ip, "netns", "del", node)
            stack.callback(kill, node)
            ip("link", "add", f"gile-{number}", "type", "veth", "peer", "eth0", "netns", node)
            ip("link", "set", f"gile-{number}", "master", BRIDGE, "up")
            ip("-n", node, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", node, "link", "set", device, "up")
        yield stack.enter_context(server(f"{NETWORK}.1"))


@contextlib.contextmanager
def worker(node: str, url: str, folder: Path, seed: int):
    """Run a worker of the study on a node, in a folder that no other node has."""
    folder.mkdir(exist_ok=True)
    python = (sys.executable, "-m", studies.__name__, url, str(folder), str(TRIALS), str(seed))
    script = f'hostname {node}; exec "$@"'
    command = ["ip", "netns", "exec", node, "unshare", "--uts", "sh", "-c", script, "sh", *python]
    with (
        open(folder.with_suffix(".txt"), "a") as log,
        subprocess.Popen(command, env=children.environment(), stdout=log, stderr=log) as process,
    ):
        try:
            yield process
        finally:
            kill(node)


def starts(folder: Path) -> int:
    return len(list(folder.glob("trials/*/starts")))


def test_a_node_that_is_lost_and_comes_back(database, tmp_path):
    """The node that is left takes up the trial that was cut off; no trial is lost or run twice."""
    url = database.url
    studies.study(url)
    studies.close()
    first, second = (tmp_path / node for node in NODES)
    hold = second / "trials/hold"
    hold.parent.mkdir(parents=True)
    hold.touch()  # trials on the second node do not end
    with worker(NODES[0], url, first, 0) as staying:
        with worker(NODES[1], url, second, 1) as leaving:
            children.wait_for(lambda: starts(first) >= 1 and starts(second) >= 1)
            kill(NODES[1])
            assert leaving.wait(60) != 0
        hold.unlink()
        assert staying.poll() is None
        with worker(NODES[1], url, second, 2) as again:
            for process, log in ((staying, "gile-node-1.txt"), (again, "gile-node-2.txt")):
                assert process.wait(300) == 0, (tmp_path / log).read_text()
    trials = studies.study(url).get_trials()
    studies.close()
    # machines that share no folder may take one trial each beyond the number
    assert TRIALS <= counted(trials) <= TRIALS + 1
    assert all(trial.state.is_finished() for trial in trials)
    assert len(repeated(trials)) == 1  # the one that was cut off
    ended = Counter(first_number(x) for x in trials if x.state.name in ("COMPLETE", "PRUNED"))
    assert max(ended.values()) == 1
