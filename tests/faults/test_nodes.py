"""Two nodes, as torchrun has them: two agents with addresses and working directories of their own.

Script and command are those of docs/devices.md, but for one process on a node in place of eight.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import torch

from gile_testing import children, processes, runs

PAGE = Path(__file__).parents[2] / "docs/devices.md"
ADDRESSES = ("127.0.0.1", "127.0.0.2")
ALL = (
    *("--model.sampler", "gile_lightning.training.samplers.AllLabels"),
    *("--data.train_share", 0.97, "--data.batch_size", 16, "--checkpoint_every", 3),
)


def arguments(folder, cache="../../cache", **kill):
    """Return what is added to the page's fit; the cache is seen from a node's working directory."""
    record = processes.callbacks(Record={"directory": str(folder / "steps")}, **kill)
    _, _, *given = runs.arguments(None, *ALL, "--data.cache_dir", cache, *record)  # no --config
    return [*given, "--trainer.devices", "1"]


def replaced(text, **values):
    for old, new in values.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@contextlib.contextmanager
def agent(node, port, script):
    """Start torchrun on a node; it starts the process there, and starts it again if it fails."""
    place = script.parent / f"node-{node}"
    if not place.exists():
        place.mkdir()
        (place / "sweeps").symlink_to(runs.CONFIG.parent)
    blocks = re.findall(r"(?:^    .*\n)+", PAGE.read_text(encoding="utf-8"), re.M)
    (launch,) = (text for text in blocks if "node.sh" in text)
    # both addresses are this machine's: without a word, the second agent could hold the store
    own = f"--rdzv_id job --rdzv_conf is_host={node == 0} --local_addr {ADDRESSES[node]}"
    changes = {
        "--nproc_per_node 8": "--nproc_per_node 1",
        "HOST:29500": f"{ADDRESSES[0]}:{port}",
        "--rdzv_id job": own,
        "torchrun": "exec torchrun",
        "node.sh": shlex.quote(str(script)),
    }
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    variables = children.environment(GLOO_SOCKET_IFNAME="lo", PATH=path)
    with (
        open(place / "log.txt", "a") as log,
        subprocess.Popen(
            ["bash", "-c", replaced(textwrap.dedent(launch), **changes)],
            cwd=place,
            env=variables,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def write_script(folder, given):
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (script,) = (text for text in blocks if "--trainer.devices 8" in text)
    script = replaced(script, **{" $more": f" {shlex.join(given)} $more"})
    script = script.replace("/shared/run", str(folder / "run"))
    (folder / "node.sh").write_text(f"echo started >> {folder}/starts.txt\n{script}")
    return folder / "node.sh"


def weights(folder):
    return torch.load(folder / "steps/rank-0.pt", weights_only=True)


def assert_gone_on(folder, expected):
    """Both processes began twice, the second time after the first steps; the weights are equal."""
    assert len((folder / "starts.txt").read_text().splitlines()) >= 4
    for rank in (0, 1):
        records = (folder / f"steps/rank-{rank}.jsonl").read_text().splitlines()
        steps = [json.loads(record)["step"] for record in records]
        assert set(steps) == set(range(1, max(steps) + 1))
        assert [steps.count(step) for step in (1, 2, 3)] == [1, 1, 1]
    found = weights(folder)
    assert found.keys() == expected.keys()
    for name, value in found.items():
        assert torch.equal(value, expected[name]), name


def run(folder, given):
    """Run both nodes to their end."""
    script, port = write_script(folder, given), processes.free_port()
    with agent(0, port, script) as first, agent(1, port, script) as second:
        status = [process.wait(processes.TIMEOUT) for process in (first, second)]
    assert status == [0, 0], logs(folder)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes") / "unbroken"
    folder.mkdir()
    run(folder, arguments(folder))
    return folder


def logs(folder):
    return [file.read_text() for file in sorted(folder.glob("node-*/log.txt"))]


def test_a_process_that_is_killed_is_started_again(unbroken):
    folder = unbroken.with_name("process")
    folder.mkdir()
    run(folder, arguments(folder, Kill={"rank": 1, "step": 5, "once": str(folder / "killed")}))
    assert (folder / "killed").exists()
    assert_gone_on(folder, weights(unbroken))


def test_a_node_that_is_killed_comes_back(unbroken):
    """Its agent goes with it; the scheduler starts it again, and the other one has waited."""
    folder = unbroken.with_name("node")
    folder.mkdir()
    script, port = write_script(folder, arguments(folder)), processes.free_port()
    with agent(0, port, script) as first:
        with agent(1, port, script) as second:
            steps, end = folder / "steps/rank-1.jsonl", time.monotonic() + processes.TIMEOUT
            while not steps.exists() or len(steps.read_text().splitlines()) < 5:
                assert time.monotonic() < end, logs(folder)
                assert first.poll() is second.poll() is None, logs(folder)
                time.sleep(0.02)
        with agent(1, port, script) as again:
            status = [process.wait(processes.TIMEOUT) for process in (first, again)]
    assert status == [0, 0], logs(folder)
    assert_gone_on(folder, weights(unbroken))


def test_nodes_without_a_common_cache_encode_each_for_itself(unbroken):
    """Shards and weights are those of nodes that have the cache in common."""
    folder = unbroken.with_name("caches")
    folder.mkdir()
    run(folder, arguments(folder, cache="own"))
    found = weights(folder)
    assert found.keys() == weights(unbroken).keys()
    assert all(torch.equal(value, found[name]) for name, value in weights(unbroken).items())
    common = shards(unbroken.with_name("cache"))
    assert common.keys() > {"task.json", "test-00000.arrow", "train-00000.arrow"}
    for node in (0, 1):
        assert shards(folder / f"node-{node}/own") == common


def shards(cache):
    """Return the files of the only encoded corpus in a cache, but what tells when it was made."""
    (task,) = cache.glob("*/task.json")
    return {file.name: file.read_bytes() for file in (task, *task.parent.glob("*.arrow"))}
