"""Several processes do what one does, however they are started, and end together."""

import contextlib
import json
import shutil
import signal
import subprocess
from itertools import chain
from pathlib import Path

import pytest
import torch

from gile_lightning import fit
from gile_lightning.commands.run_folder import read_documents, read_metrics
from gile_testing import children, dw_runs, processes, runs

ALL = (
    "--model.sampler",
    "gile_lightning.training.samplers.AllLabels",
    "--trainer.precision",
    "64-true",
)
UNEVEN = (*ALL, "--data.train_share", 0.97)  # 217 documents in 7 steps of 31, 15 and 16 by process
EPOCHS = 3
HALF = ("--data.batch_size", 16)
SPARSE = ("--config", runs.CONFIG.with_name("fast.yaml"), "--trainer.accumulate_grad_batches", 2)
CLIP = ("--trainer.gradient_clip_val", 0.05)


def last_state(output: Path) -> dict:
    return torch.load(output / "checkpoints/last.ckpt", weights_only=True)


def union(steps, name="english") -> list[list[int]]:
    """The documents of each step, those of all processes in turn."""
    return [list(chain.from_iterable(part["rows"][name] for part in step)) for step in steps]


def assert_same_weights(path, other, tolerance) -> None:
    weights, others = torch.load(path), torch.load(other)
    for name, weight in weights.items():
        torch.testing.assert_close(others[name], weight, rtol=0, atol=tolerance)


def assert_same_documents(folder: Path, other: Path) -> None:
    """What each document contributes, in the order of the corpus."""
    found, others = map(read_documents, (folder, other))
    assert len(found["documents"]) > 100
    torch.testing.assert_close(others, found)


def assert_same_metrics(metrics, others, tolerance) -> None:
    assert runs.reproducible(metrics).keys() == runs.reproducible(others).keys()
    for key, value in runs.reproducible(metrics).items():
        near = 1e-7 if "calibration" in key else tolerance  # of probabilities in float32
        assert others[key] == pytest.approx(value, rel=0, abs=near, nan_ok=True), key


def recorded(directory: Path, name: str, **more) -> list[str]:
    return processes.callbacks(Record={"directory": str(directory / name)}, **more)


def start(command, directory, **environment):
    return children.started(
        "-m",
        *command,
        cwd=directory,
        env=children.environment(**environment),
        stderr=subprocess.STDOUT,
    )


# --- the same as one process: two under SLURM ---


@pytest.fixture(scope="module", params=[(), SPARSE], ids=["dense", "sparse, gathered"])
def same(tmp_path_factory, request):
    """A run of one process with batches of 32, and of two with 16 each; with clipped gradients."""
    directory = tmp_path_factory.mktemp("same")
    options = (*UNEVEN, *CLIP, *request.param)
    record = recorded(directory, "one")
    one = fit.main(runs.arguments(directory / "one/run", *options, *record, epochs=EPOCHS))
    record = recorded(directory, "two")
    given = runs.arguments(None, *options, *HALF, *record, epochs=EPOCHS)
    ended = processes.run(directory, given, launcher=processes.slurm)
    assert ended.status == [0, 0], ended.printed
    (output,) = directory.glob("runs/bioasq/*")  # of which there is one
    assert f"run folder: runs/bioasq/{output.name}" in ended.printed[0]
    assert "run folder" not in ended.printed[1]
    return directory, one, output


def test_a_step_has_the_documents_of_one_process(same):
    directory = same[0]
    one, two = (processes.steps(directory / name, n) for name, n in (("one", 1), ("two", 2)))
    assert union(two) == union(one)
    assert {tuple(len(part["rows"]["english"]) for part in step) for step in two} == {(15, 16)}
    for epoch in range(EPOCHS):
        rows = chain.from_iterable(union([step for step in two if step[0]["epoch"] == epoch]))
        assert len(set(rows)) == 217 == sum(map(len, union(two))) / EPOCHS


def test_the_weights_are_those_of_one_process(same):
    directory = same[0]
    for rank in (0, 1):
        assert_same_weights(directory / "one/rank-0.pt", directory / f"two/rank-{rank}.pt", 1e-9)


def test_the_metrics_are_those_of_one_process(same):
    """Seen, unseen, all, buckets, means over labels, micro-F1, thresholds tuned in validation."""
    directory, one, output = same
    assert {"test.micro.tuned_threshold", "test.all.macro_f1"} <= one.keys()
    assert_same_metrics(one, read_metrics(output), 1e-9)
    assert_same_documents(directory / "one/run", output)


# --- two nodes, started by torchrun, with a cache in common ---


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    directory = tmp_path_factory.mktemp("nodes")
    cache = ("--data.cache_dir", directory / "cache")
    languages = ("--data.train_share", json.dumps({"german": 0.71, "english": 0.97}))
    record = recorded(directory, "two", Encodings={"file": str(directory / "encoded")})
    port = processes.free_port()
    commands = []
    for node in (0, 1):
        (directory / f"node-{node}").mkdir()
        given = dw_runs.arguments(None, *ALL, *cache, *languages, *record)
        launch = ("torch.distributed.run", "--nnodes", 2, "--nproc_per_node", 1)
        launch += ("--node_rank", node, "--master_addr", "127.0.0.1", "--master_port", port)
        launch += ("-m", "gile_lightning.fit", *given, "--data.batch_size", 8)
        launch += ("--trainer.devices", 1, "--trainer.num_nodes", 2, "--trainer.strategy", "ddp")
        commands.append(launch)
    logs = [directory / f"node-{node}.log" for node in (0, 1)]
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(children.forked(log, *command, folder=log.with_suffix("")))
            for log, command in zip(logs, commands, strict=True)
        ]
        status = [process.wait(processes.TIMEOUT) for process in started]
    printed = [log.read_text() for log in logs]
    assert status == [0, 0], printed
    record = recorded(directory, "one")
    given = dw_runs.arguments(directory / "one/run", *ALL, *cache, *languages, *record)
    return directory, fit.main([*given, "--data.batch_size", "16"]), printed


def test_nodes_have_one_run_folder(nodes):
    directory, _, printed = nodes
    (output,) = directory.glob("node-*/runs/dw/*")
    assert output.parts[-4] == "node-0"
    assert not list((directory / "node-1").iterdir())
    assert [text.count("run folder: ") for text in printed] == [1, 0]


def test_each_language_is_encoded_once(nodes):
    assert (nodes[0] / "encoded").read_text().count("\n") == 2


def test_languages_on_two_nodes_are_trained_as_on_one(nodes):
    directory = nodes[0]
    one, two = (processes.steps(directory / name, n) for name, n in (("one", 1), ("two", 2)))
    for name in ("english", "german"):
        assert union(two, name) == union(one, name)
    assert_same_weights(directory / "one/rank-0.pt", directory / "two/rank-1.pt", 1e-9)


def test_languages_on_two_nodes_are_scored_as_on_one(nodes):
    directory, one, _ = nodes
    (path,) = directory.glob("node-0/runs/dw/*/metrics.json")
    assert {"german.test.micro.f1", "test.micro.f1"} <= one.keys()
    assert_same_metrics(one, read_metrics(path.parent), 1e-9)


# --- killed within an epoch; gone on with by another number of processes ---


EVERY = ("--checkpoint_every", 3)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    directory = tmp_path_factory.mktemp("unbroken")
    given = (*UNEVEN, *recorded(directory, "one"))
    fit.main(runs.arguments(directory / "run", *given, epochs=2))
    return directory


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Two processes, of which the second is killed after the fifth step; the third is kept."""
    directory = tmp_path_factory.mktemp("killed")
    options = (*UNEVEN, *EVERY, *HALF, *recorded(directory, "two", Kill={"rank": 1, "step": 5}))
    ended = processes.run(directory, runs.arguments(directory / "run", *options, epochs=2))
    shutil.copytree(directory / "run", directory / "kept")
    return directory, ended


@pytest.fixture
def cut_off(killed):
    """The same run as it was when it was killed, in its place."""
    directory, _ = killed
    shutil.rmtree(directory / "run")
    shutil.copytree(directory / "kept", directory / "run")
    return directory


def test_a_killed_process_ends_the_other(killed):
    directory, ended = killed
    assert ended.status[1] == -signal.SIGKILL
    assert ended.status[0] not in (0, None)
    assert last_state(directory / "kept")["global_step"] == 3


def test_one_process_goes_on_with_a_run_of_two(cut_off, unbroken):
    directory = cut_off
    given = (*UNEVEN, *EVERY, "--ckpt_path", "last", *recorded(directory, "then-one"))
    fit.main(runs.arguments(directory / "run", *given, epochs=2))
    steps = processes.steps(directory / "two", 2)[:3] + processes.steps(directory / "then-one", 1)
    assert union(steps) == union(processes.steps(unbroken / "one", 1))
    assert_same_weights(unbroken / "one/rank-0.pt", directory / "then-one/rank-0.pt", 1e-9)


def test_two_processes_go_on_with_a_run_of_two(cut_off):
    """They draw labels as they did, each from streams of its own."""
    directory = cut_off
    given = (*UNEVEN, *EVERY, *HALF, "--ckpt_path", "last", *recorded(directory, "then-two"))
    given = runs.arguments(directory / "run", *given, epochs=2)
    ended = processes.run(directory, given)
    assert ended.status == [0, 0], ended.printed
    first, then = (processes.steps(directory / name, 2) for name in ("two", "then-two"))
    assert then[:2] == first[3:5]
    seeds = [part["seeds"] for step in first[:3] + then for part in step]
    assert {len(own) for own in seeds} == {1}
    assert len({own[0] for own in seeds}) == len(seeds) == 14 * 2


def test_three_processes_go_on_with_a_run_of_two(cut_off):
    """With 11 documents each at most they need other steps; the epoch still has every document."""
    directory = cut_off
    options = ("--data.batch_size", 11, "--ckpt_path", "last", *recorded(directory, "then-three"))
    output = directory / "run"
    given = runs.arguments(output, *UNEVEN, *EVERY, *options, epochs=2)
    ended = processes.run(directory, given, 3)
    assert ended.status == [0, 0, 0], ended.printed
    first, then = (
        processes.steps(directory / "two", 2)[:3],
        processes.steps(directory / "then-three", 3),
    )
    for epoch in (0, 1):
        rows = chain.from_iterable(union([x for x in first + then if x[0]["epoch"] == epoch]))
        assert sorted(rows) == list(range(217))
    assert len(then) == 4 + 7  # 124 documents of 217 were left
    assert len((output / "metrics.csv").read_text().splitlines()) == 1 + 2  # each validated


def test_two_processes_go_on_with_a_run_of_one(tmp_path, unbroken):
    output = tmp_path / "run"
    where = {"step": 5, "hook": "on_train_batch_end"}
    crash = json.dumps([{"class_path": "gile_testing.crash.Crash", "init_args": where}])
    with pytest.raises(RuntimeError, match="crash"):
        fit.main(runs.arguments(output, *UNEVEN, *EVERY, "--trainer.callbacks", crash, epochs=2))
    given = (*UNEVEN, *EVERY, *HALF, "--ckpt_path", "last", *recorded(tmp_path, "two"))
    ended = processes.run(tmp_path, runs.arguments(output, *given, epochs=2))
    assert ended.status == [0, 0], ended.printed
    steps, expected = processes.steps(tmp_path / "two", 2), processes.steps(unbroken / "one", 1)
    assert union(steps) == union(expected)[3:]
    assert [x[0]["batch"] for x in steps] == [x[0]["batch"] for x in expected[-len(steps) :]]
    assert_same_weights(unbroken / "one/rank-0.pt", tmp_path / "two/rank-1.pt", 1e-9)
    assert len((output / "metrics.csv").read_text().splitlines()) == 1 + 2


# --- more processes than documents; trained further ---


def test_three_processes_train_a_checkpoint_further_and_validate_two_documents(unbroken, tmp_path):
    checkpoint = torch.load(unbroken / "run/checkpoints/best.ckpt", weights_only=True)
    # one of an earlier version, so that its 25 validation documents do not stay what they are
    del checkpoint["gile_lightning"]["extra"]["known_documents"]
    torch.save(checkpoint, tmp_path / "start.ckpt")
    start = ("--start_from", tmp_path / "start.ckpt")
    options = (*start, "--data.validation_size", 2, "--data.min_count", 1)
    metrics = {}
    for count, batch_size in ((1, 48), (3, 16)):
        given = ("--data.batch_size", batch_size, *recorded(tmp_path, str(count)))
        given = runs.arguments(tmp_path / f"run-{count}", *ALL, *options, *given, epochs=1)
        if count == 1:
            fit.main(given)
        else:
            ended = processes.run(tmp_path, given, count)
            assert ended.status == [0] * count, ended.printed
        metrics[count] = read_metrics(tmp_path / f"run-{count}")
    for rank in range(3):
        assert_same_weights(tmp_path / "1/rank-0.pt", tmp_path / f"3/rank-{rank}.pt", 1e-9)
    assert_same_metrics(metrics[1], metrics[3], 1e-9)


# --- broken runs ---


def test_a_loss_that_is_not_finite_on_one_process_ends_all(tmp_path):
    broken = processes.callbacks(Break={"rank": 1, "step": 6})
    given = runs.arguments(tmp_path / "run", *EVERY, *broken, epochs=2)
    ended = processes.run(tmp_path, given)
    assert ended.status == [2, 2], ended.printed
    for printed in ended.printed:
        assert "error: the loss of step 6 is not finite: training diverged; lower the" in printed
        assert "Traceback" not in printed
    last = last_state(tmp_path / "run")
    assert last["global_step"] == 4  # the end of the epoch; step 6 would have been the next
    assert all(weight.isfinite().all() for weight in last["state_dict"].values())


def test_no_process_outlives_the_first_one(tmp_path):
    """The other one is busy, and waits for nothing that the first one sends."""
    runs.trained()  # encodes the corpus
    kill = processes.callbacks(Kill={"rank": 0, "step": 1, "hang": str(tmp_path / "pid")})
    devices = ("--trainer.devices", 2, "--trainer.strategy", "ddp")
    command = ["gile_lightning.fit", *runs.arguments(tmp_path / "run", *devices, *kill)]
    with start(command, tmp_path) as process:
        printed, _ = process.communicate(timeout=processes.TIMEOUT)  # which both have open
    assert process.returncode == -signal.SIGKILL, printed
