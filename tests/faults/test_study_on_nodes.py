"""A study on two nodes that share a database and no disk: networks and host names of their own."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import optuna
import pytest

from gile_lightning.search.recovery import counted, first_number, repeated
from gile_testing import children, studies
from gile_testing.postgresql import server

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")

NODES = ("gile-node-1", "gile-node-2")
BRIDGE, NETWORK = "gile-bridge", "10.199.77"
NOT_HERE = ("not permitted", "not supported", "Unknown device type")
TRIALS = 16


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def kill(node: str) -> None:
    """End all that runs on a node, as if its power were cut."""
    while True:
        found = subprocess.run(["ip", "netns", "pids", node], capture_output=True, text=True)
        pids = [int(line) for line in found.stdout.split()]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not pids:
            return


def clear() -> None:
    """Remove nodes and bridge, also those that a killed test has left."""
    for node in NODES:
        kill(node)
        subprocess.run(["ip", "netns", "del", node], capture_output=True)
    subprocess.run(["ip", "link", "del", BRIDGE], capture_output=True)


def connect() -> None:
    """Make two nodes and a bridge between them and this machine."""
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")
    for number, node in enumerate(NODES, 2):
        ip("netns", "add", node)
        ip("link", "add", f"gile-{number}", "type", "veth", "peer", "eth0", "netns", node)
        ip("link", "set", f"gile-{number}", "master", BRIDGE, "up")
        ip("-n", node, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            ip("-n", node, "link", "set", device, "up")


@pytest.fixture
def database():
    """Two nodes on a bridge, and a database that listens there alone."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
        pytest.skip("networks of their own need root, iproute2 and util-linux")
    clear()
    try:
        connect()
        with server(f"{NETWORK}.1") as started:
            yield started
    except subprocess.CalledProcessError as error:
        if any(reason in str(error.stderr) for reason in NOT_HERE):
            pytest.skip(f"no networks here: {error.stderr.strip()}")
        raise
    finally:
        clear()


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


def trials_of(url: str) -> list[optuna.trial.FrozenTrial]:
    found = studies.study(url).get_trials()
    studies.close()
    return found


def attempts(url: str, number: int) -> list[optuna.trial.FrozenTrial]:
    """A trial and those that repeat it."""
    return [trial for trial in trials_of(url) if first_number(trial) == number]


def starts(folder: Path) -> int:
    return len(list(folder.glob("trials/*/starts")))


def test_a_node_that_is_lost_and_comes_back(database, tmp_path):
    """The node that stays runs the trial that was cut off; no trial is lost or run twice."""
    url = database.url
    studies.study(url)
    studies.close()
    first, second = (tmp_path / node for node in NODES)
    holds = [
        node / "trials/hold" for node in (first, second)
    ]  # trials do not end while it is there
    for hold in holds:
        hold.parent.mkdir(parents=True)
        hold.touch()
    with worker(NODES[0], url, first, 0) as staying:
        with worker(NODES[1], url, second, 1) as leaving:
            children.wait_for(lambda: starts(first) == starts(second) == 1)
            kill(NODES[1])
            assert leaving.wait(60) != 0
        (lost,) = (int(path.parent.name) for path in second.glob("trials/*/starts"))
        for hold in holds:
            hold.unlink()
        # before the other node is back
        children.wait_for(lambda: any(x.state.is_finished() for x in attempts(url, lost)[1:]))
        with worker(NODES[1], url, second, 2) as again:
            for process, log in ((staying, "gile-node-1.txt"), (again, "gile-node-2.txt")):
                assert process.wait(300) == 0, (tmp_path / log).read_text()
    trials = trials_of(url)
    # machines that share no folder may take one trial each beyond the number
    assert TRIALS <= counted(trials) <= TRIALS + 1
    assert all(trial.state.is_finished() for trial in trials)
    assert repeated(trials) == {lost}
    _, repetition = attempts(url, lost)
    assert repetition.params == trials[lost].params
    assert (first / f"trials/{lost:04}/starts").is_file()
    ended = Counter(first_number(x) for x in trials if x.state.name in ("COMPLETE", "PRUNED"))
    assert max(ended.values()) == 1
    failed = {first_number(x) for x in trials if x.number != lost and x.state.name == "FAIL"}
    # the stand-in runs out of memory there
    assert all(trials[number].params["x"] > 0.97 for number in failed)
    assert ended.keys() | failed == {first_number(trial) for trial in trials}
