"""Fits that are killed and go on, evaluation and prediction on a GPU, as commands run them."""

import json
import signal
from pathlib import Path

import pytest
import torch

from gile_lightning import evaluate, predict
from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.fit import main
from gile_testing import baseline_runs, children, processes, runs

pytestmark = pytest.mark.gpu
EVERY = ("--checkpoint_every", 3)
# so that kernels add up in the same order in every run
SAME = ("--trainer.deterministic", "true")
VARIABLES = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


@pytest.fixture
def fit(accelerator, tmp_path):
    """Runs a fit in a process of its own; returns its status."""

    def run(output: Path, *more: object) -> int:
        given = runs.arguments(output, *EVERY, *more, "--trainer.accelerator", accelerator)
        variables = children.environment(**VARIABLES)
        log = tmp_path / "log.txt"
        with children.forked(log, "gile_lightning.fit", *given, variables=variables) as process:
            return process.wait(processes.TIMEOUT)

    return run


def weights(output: Path) -> dict[str, torch.Tensor]:
    return torch.load(output / "checkpoints/last.ckpt", weights_only=True)["state_dict"]


def compare(found: dict, expected: dict, tolerance: float) -> None:
    """Compare the figures of two tests that are averages over documents."""
    scores = {key: value for key, value in expected.items() if key.startswith("test.")}
    assert scores
    assert {key: found[key] for key in scores} == pytest.approx(scores, abs=tolerance)


def test_a_killed_fit_goes_on(fit, tmp_path):
    assert fit(tmp_path / "unbroken", *SAME) == 0
    crash = {
        "class_path": "gile_testing.crash.Crash",
        "init_args": {"step": 8, "sent": "SIGKILL"},
    }
    assert fit(tmp_path / "run", *SAME, "--trainer.callbacks", json.dumps([crash])) == (
        -signal.SIGKILL
    )
    assert fit(tmp_path / "run", *SAME, "--ckpt_path", "last") == 0
    found, expected = weights(tmp_path / "run"), weights(tmp_path / "unbroken")
    for name, value in expected.items():
        assert torch.equal(found[name], value), name
    compare(*(read_metrics(tmp_path / name) for name in ("run", "unbroken")), 0)


def test_a_fit_is_about_as_good_as_on_the_cpu(fit, tmp_path):
    """Rounding changes the course; the same documents and labels are drawn."""
    assert fit(tmp_path / "run") == 0
    compare(read_metrics(tmp_path / "run"), runs.trained(*EVERY).metrics, 0.02)


@pytest.mark.parametrize("config", ["wsabie.yaml", "aitextml.yaml"])
def test_fits_whose_steps_the_device_draws(config, accelerator, tmp_path):
    """Nothing to compare with: the host draws other numbers."""
    small = ("--trainer.max_epochs", 2, "--model.dim", 10, "--trainer.accelerator", accelerator)
    done = runs.call(main, *baseline_runs.arguments(config, tmp_path / "run", *small))
    assert done.status is None, done.errors
    metrics = read_metrics(tmp_path / "run")
    assert metrics["epochs"] == 2
    assert 0 < metrics["test.seen.average_precision"] < 1


def test_evaluation(accelerator):
    run = runs.trained()
    given = ("--checkpoint", run.output, "--trainer.accelerator", accelerator)
    compare(runs.call(evaluate.main, *given).result, run.metrics, 1e-3)


def test_prediction(tmp_path):
    """The same labels; ties and near ties could change places, of which these texts have none."""
    run, source = runs.trained(), tmp_path / "texts.jsonl"
    source.write_text(
        "".join(json.dumps({"text": runs.text(x)}) + "\n" for x in runs.articles()[:40])
    )
    found = []
    for device in ("auto", "cpu"):
        target = tmp_path / f"{device}.jsonl"
        given = ("--checkpoint", run.output, "--input", source, "--output", target)
        assert runs.call(predict.main, *given, "--device", device).status is None
        found.append([json.loads(line)["labels"] for line in target.read_text().splitlines()])
    for here, there in zip(*found, strict=True):
        assert [x["name"] for x in here] == [x["name"] for x in there]
        scores = [[x["score"] for x in labels] for labels in (here, there)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-3)


@pytest.mark.parametrize("sparse", [(), ("--config", runs.CONFIG.with_name("fast.yaml"))])
@pytest.mark.parametrize("launcher", [processes.torchrun, processes.one_each])
def test_two_processes_are_one(accelerator, tmp_path, launcher, sparse):
    """They add up gradients, dense or by rows, and gather what metrics have counted.

    With a GPU each they do so by NCCL, and by gloo where they share one.
    """
    if launcher is processes.torchrun and torch.cuda.device_count() == 1:
        pytest.skip("one GPU, which NCCL lets no two processes share")
    given = runs.arguments(
        tmp_path / "two", "--data.batch_size", 16, *processes.callbacks(Record={"directory": "."})
    )
    all_labels = ("--model.sampler", "gile_lightning.training.samplers.AllLabels")
    given += [*map(str, sparse), *all_labels, "--trainer.accelerator", accelerator]
    ended = processes.run(tmp_path, given, launcher=launcher)
    assert ended.status == [0, 0], ended.printed
    weights = [torch.load(tmp_path / f"rank-{rank}.pt", map_location="cpu") for rank in range(2)]
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value, rtol=1e-4, atol=1e-5)
    one = runs.trained(*sparse, *all_labels)
    compare(read_metrics(tmp_path / "two"), one.metrics, 0.02)
