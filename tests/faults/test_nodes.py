"""Two nodes, as torchrun has them: two agents with addresses and working directories of their own.

The command is that of the documentation: a script that goes on with the run if there is one.
"""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest
import torch

from gile_testing import children, processes, runs

ADDRESSES = ("127.0.0.1", "127.0.0.2")
ALL = (
    *("--model.sampler", "gile_lightning.training.samplers.AllLabels"),
    *("--data.train_share", 0.97, "--data.batch_size", 16, "--checkpoint_every", 3),
)


def arguments(folder, **kill):
    record = processes.callbacks(Record={"directory": str(folder / "steps")}, **kill)
    cache = ("--data.cache_dir", folder.parent / "cache")
    given = runs.arguments(folder / "run", *ALL, *cache, *record)
    return [*given, "--trainer.devices", "1", "--trainer.num_nodes", "2"]


@contextlib.contextmanager
def agent(node, port, script):
    """Start torchrun on a node; it starts the process there, and starts it again if it fails."""
    place = script.parent / f"node-{node}"
    place.mkdir(exist_ok=True)
    # both addresses are this machine's: without a word, the second agent could hold the store
    rendezvous = ("--rdzv_backend", "c10d", "--rdzv_endpoint", f"{ADDRESSES[0]}:{port}")
    rendezvous += ("--rdzv_conf", f"is_host={node == 0}")
    launch = (
        *("torch.distributed.run", "--nnodes", 2, "--nproc_per_node", 1, "--max_restarts", 3),
        *(*rendezvous, "--rdzv_id", "job", "--local_addr", ADDRESSES[node]),
        *("--no_python", "bash", script),
    )
    command = [sys.executable, "-m", *map(str, launch)]
    # with a store in common, torchrun's processes read addresses from before the start
    # (https://github.com/pytorch/pytorch/issues/135712)
    own = {"GLOO_SOCKET_IFNAME": "lo", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    variables = children.environment(**own)
    with (
        open(place / "log.txt", "a") as log,
        subprocess.Popen(
            command, cwd=place, env=variables, stdout=log, stderr=log, start_new_session=True
        ) as process,
    ):
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def write_script(folder, given):
    lines = (
        f"echo started >> {folder}/starts.txt",
        f"[ -f {folder}/run/config.yaml ] && more='--ckpt_path last'",
        f"exec {sys.executable} -m gile_lightning.fit {shlex.join(given)} $more",
    )
    (folder / "node.sh").write_text("\n".join(lines))
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


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes") / "unbroken"
    folder.mkdir()
    script, port = write_script(folder, arguments(folder)), processes.free_port()
    with agent(0, port, script) as first, agent(1, port, script) as second:
        status = [process.wait(processes.TIMEOUT) for process in (first, second)]
    assert status == [0, 0], logs(folder)
    return folder


def logs(folder):
    return [file.read_text() for file in sorted(folder.glob("node-*/log.txt"))]


def test_a_process_that_is_killed_is_started_again(unbroken):
    folder = unbroken.with_name("process")
    folder.mkdir()
    given = arguments(folder, Kill={"rank": 1, "step": 5, "once": str(folder / "killed")})
    script, port = write_script(folder, given), processes.free_port()
    with agent(0, port, script) as first, agent(1, port, script) as second:
        status = [process.wait(processes.TIMEOUT) for process in (first, second)]
    assert status == [0, 0], logs(folder)
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
