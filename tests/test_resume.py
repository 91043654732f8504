"""A run that was killed and continued ends as one that was not."""

import csv
import json
import operator
import signal
import threading
from pathlib import Path

import pytest
import torch

from gile_lightning import fit
from gile_lightning.commands import fitting
from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.boost import BOOSTS
from gile_testing import children, runs

STOPS = (signal.SIGTERM, signal.SIGUSR1)
CONFIG = Path(__file__).parents[1] / "sweeps/bioasq.yaml"


def arguments(output: Path, cache: Path) -> list[str]:
    return [
        *("--config", str(CONFIG), "--output", str(output), "--data.cache_dir", str(cache)),
        *("--data.builtin_documents", "400", "--data.min_count", "2", "--data.batch_size", "32"),
        *("--trainer.max_epochs", "3", "--checkpoint_every", "3", "--trainer.accelerator", "cpu"),
        *("--trainer.enable_progress_bar", "false", "--trainer.logger", "false"),
    ]


def outcome(output: Path):
    weights = torch.load(output / "checkpoints/last.ckpt", weights_only=True)
    metrics = read_metrics(output)
    timed = ("seconds", "documents_per_second")
    history = list(csv.DictReader((output / "metrics.csv").read_text().splitlines()))
    assert all(0 <= float(row.pop("train/data_wait")) < 1 for row in history)  # a time, too
    assert all(float(row.pop("train/documents_per_second")) > 0 for row in history)  # and these
    return weights, {k: v for k, v in metrics.items() if k not in timed}, history


def assert_same(run, other) -> None:
    (weights, metrics, history), (weights2, metrics2, history2) = run, other
    states = [
        [w["state_dict"], w["optimizer_states"], w["gile_lightning"]["calibrations"]]
        for w in (weights, weights2)
    ]
    for state in zip(*states, strict=True):
        flat, flat2 = (torch.utils._pytree.tree_flatten(part)[0] for part in state)
        assert len(flat) == len(flat2)
        for value, value2 in zip(flat, flat2, strict=True):
            same = torch.equal if isinstance(value, torch.Tensor) else operator.eq
            assert same(value, value2)
    assert weights["global_step"] == weights2["global_step"]
    assert metrics == metrics2
    assert history == history2


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory, cache):
    output = tmp_path_factory.mktemp("unbroken") / "run"
    fit.main(arguments(output, cache))
    return outcome(output)


def test_history_has_a_row_per_epoch(unbroken):
    assert [row["epoch"] for row in unbroken[2]] == ["0", "1", "2"]


def test_figures_of_before_are_gone_where_a_run_that_was_done_goes_on(
    tmp_path, cache, unbroken, monkeypatch
):
    """Else they would be told of other weights, if it is killed."""
    output = tmp_path / "run"
    fit.main(arguments(output, cache))

    def killed(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "run_tests", killed)
    more = ("--ckpt_path", "last", "--trainer.max_epochs", "4")
    assert runs.call(fit.main, *arguments(output, cache), *more).status == 130
    assert (output / "checkpoints/best.ckpt").is_file()
    assert not {"metrics.json", "documents.npz", "report.html"} & {x.name for x in output.iterdir()}
    monkeypatch.undo()
    fit.main([*arguments(output, cache), *more])
    assert read_metrics(output)["epochs"] == 4


def test_figures_stay_where_a_run_that_was_done_cannot_go_on(tmp_path, cache, unbroken):
    output = tmp_path / "run"
    fit.main(arguments(output, cache))
    before = {x.name for x in output.iterdir()}
    more = ("--ckpt_path", "last", "--trainer.max_epochs", "4", "--model.output.joint_dim", "31")
    done = runs.call(fit.main, *arguments(output, cache), *more)
    assert done.status == 2, done.errors
    assert {x.name for x in output.iterdir()} == before


def test_a_run_that_is_stopped_in_its_last_validation_does_the_last_steps_again(
    tmp_path, cache, unbroken, monkeypatch
):
    """From a checkpoint of the last step nothing would be validated."""
    output = tmp_path / "run"
    steps = ("--trainer.max_epochs", "-1", "--trainer.max_steps", "6")
    begin = NeuralSystem.on_validation_epoch_start
    with monkeypatch.context() as stopped:

        def stop(self):
            if not self.trainer.sanity_checking:
                raise KeyboardInterrupt
            begin(self)

        stopped.setattr(NeuralSystem, "on_validation_epoch_start", stop)
        assert runs.call(fit.main, *arguments(output, cache), *steps).status == 130
    last = torch.load(output / "checkpoints/last.ckpt", weights_only=True)
    assert last["global_step"] == 3
    fit.main([*arguments(output, cache), *steps, "--ckpt_path", "last"])
    assert read_metrics(output)["epochs"] == 1
    assert (output / "checkpoints/best.ckpt").is_file()


def test_killed_between_two_checkpoints(tmp_path, cache, unbroken):
    output = tmp_path / "run"
    steps = int(unbroken[2][0]["step"])
    crash = {
        "class_path": "gile_testing.crash.Crash",
        "init_args": {"step": steps + 4, "sent": "SIGKILL"},
    }
    args = [*arguments(output, cache), "--trainer.callbacks", json.dumps([crash])]
    with children.forked(tmp_path / "log.txt", "gile_lightning.fit", *args) as killed:
        assert killed.wait(240) == -signal.SIGKILL, (tmp_path / "log.txt").read_text()
    last = torch.load(output / "checkpoints/last.ckpt", weights_only=True)
    assert last["global_step"] == (steps + 4) // 3 * 3  # not where it was killed
    fit.main([*arguments(output, cache), "--ckpt_path", "last"])
    assert_same(outcome(output), unbroken)


@pytest.mark.parametrize(
    ("hook", "step"),
    [
        ("on_train_batch_end", 1),  # before the first checkpoint
        ("on_train_batch_end", 3),  # at a checkpoint within an epoch
        ("on_validation_start", 4),  # after the last batch of the first epoch
        ("on_validation_end", 4),  # after its validation
        ("on_train_epoch_start", 4),  # after its checkpoint
        ("on_test_start", 0),  # after training
    ],
)
def test_crashed_at(hook, step, tmp_path, cache, unbroken):
    output = tmp_path / "run"
    crash = {"class_path": "gile_testing.crash.Crash", "init_args": {"step": step, "hook": hook}}
    with pytest.raises(RuntimeError, match="crash"):
        fit.main([*arguments(output, cache), "--trainer.callbacks", json.dumps([crash])])
    fit.main([*arguments(output, cache), "--ckpt_path", "last"])
    assert_same(outcome(output), unbroken)


def test_stopped_by_signals_with_a_checkpoint_and_a_status(tmp_path, cache, unbroken):
    output, handlers = tmp_path / "run", [signal.getsignal(x) for x in STOPS]
    given = arguments(output, cache)
    for number, hook, step, kept in [
        ("SIGUSR1", "on_train_batch_end", 1, 1),  # before the first checkpoint
        ("SIGTERM", "on_validation_batch_start", 14, 12),  # at once: the checkpoint before
    ]:
        stop = {"step": step, "hook": hook, "sent": number}
        stop = {"class_path": "gile_testing.crash.Crash", "init_args": stop}
        done = runs.call(fit.main, *given, "--trainer.callbacks", json.dumps([stop]))
        assert done.status == 128 + getattr(signal, number)
        last = torch.load(output / "checkpoints/last.ckpt", weights_only=True)
        assert last["global_step"] == kept
        assert f"interrupted; go on with --output {output} --ckpt_path last" in done.errors
        given = [*arguments(output, cache), "--ckpt_path", "last"]
    assert [signal.getsignal(x) for x in STOPS] == handlers
    fit.main(given)
    assert_same(outcome(output), unbroken)


def test_all_that_draws_or_counts_is_resumed_exactly(tmp_path, cache):
    """Sparse gradients, clipped and accumulated; matchers, residuals, dropout, a schedule."""
    more = [
        *("--config", str(CONFIG.with_name("fast.yaml")), "--model.embedding.dim", "20"),
        *("--trainer.gradient_clip_val", "0.5", "--trainer.accumulate_grad_batches", "2"),
        *("--model.dropout", "0.3", "--model.label_dropout", "0.5"),
        *("--model.schedule", "gile_lightning.training.schedules.WarmupDecay"),
        *("--checkpoint_every", "2", *runs.MATCHING),
    ]
    outputs = [tmp_path / name for name in ("unbroken", "crashed")]
    fit.main([*arguments(outputs[0], cache), *more])
    # the fifth batch: after the second step, before the third
    crash = {"class_path": "gile_testing.crash.Crash", "init_args": {"step": 2, "batch": 4}}
    again = [*arguments(outputs[1], cache), *more]
    with pytest.raises(RuntimeError, match="crash"):
        fit.main([*again, "--trainer.callbacks", json.dumps([crash])])
    fit.main([*again, "--ckpt_path", "last"])
    assert_same(*map(outcome, outputs))


def test_a_regression_is_resumed_exactly(tmp_path, cache):
    """Also what validation documents have chosen for it."""
    more = [
        *("--model.embedding.trainable", "false", "--checkpoint_every", "2"),
        *("--model.encoder", "gile_lightning.network.encoders.IdfMean"),
        *("--model.ridge", "gile_lightning.network.Ridge"),
    ]
    outputs = [tmp_path / name for name in ("unbroken", "crashed")]
    fit.main([*arguments(outputs[0], cache), *more])
    # within the second epoch: the first validation has chosen
    crash = {"class_path": "gile_testing.crash.Crash", "init_args": {"step": 7}}
    again = [*arguments(outputs[1], cache), *more]
    with pytest.raises(RuntimeError, match="crash"):
        fit.main([*again, "--trainer.callbacks", json.dumps([crash])])
    fit.main([*again, "--ckpt_path", "last"])
    assert_same(*map(outcome, outputs))
    last = torch.load(outputs[1] / "checkpoints/last.ckpt", weights_only=True)
    assert last["state_dict"]["networks.english.ridge.boost"] in BOOSTS


TRAINED_WORDS = [
    *("--config", str(CONFIG.with_name("fast.yaml")), "--model.embedding.dim", "20"),
    *("--model.dropout", "0.3", *runs.MATCHING),
]
FIXED_VECTORS = [
    *("--model.embedding.trainable", "false", "--model.label_dropout", "0.3"),
    *("--model.encoder", "gile_testing.own_parts.TurnedMean"),
    *("--model.ridge", "gile_lightning.network.Ridge", "--model.ridge.ngram_features", "64"),
    *("--model.label_residual", "gile_lightning.network.LabelResidual"),
    "--model.matchers",
    json.dumps(
        [f"gile_lightning.network.matchers.{x}" for x in ("LexicalPassage", "CharacterMatch")]
    ),
]


@pytest.mark.parametrize("parts", [TRAINED_WORDS, FIXED_VECTORS], ids=["words", "fixed"])
def test_steps_prepared_ahead_are_the_same_and_resumed_exactly(tmp_path, cache, monkeypatch, parts):
    """As they are with a GPU; the other run prepares each in its turn."""
    more = [*parts, "--checkpoint_every", "2", "--trainer.precision", "bf16-mixed"]
    outputs = [tmp_path / name for name in ("in turn", "ahead")]
    fit.main([*arguments(outputs[0], cache), *more])
    setup, prepared = NeuralSystem.setup, []

    def with_prefetch(self, stage):
        def prepare(batch, step):
            prepared.append((self.current_epoch, step, threading.current_thread()))
            return self.prepare_ahead(batch, step)

        setup(self, stage)
        self.trainer.datamodule.prepare_step = prepare

    monkeypatch.setattr(NeuralSystem, "setup", with_prefetch)
    crash = {"class_path": "gile_testing.crash.Crash", "init_args": {"step": 11}}
    again = [*arguments(outputs[1], cache), *more]
    with pytest.raises(RuntimeError, match="crash"):
        fit.main([*again, "--trainer.callbacks", json.dumps([crash])])
    assert prepared[-1][:2] > (1, 3)  # further than the last checkpoint
    prepared.clear()
    fit.main([*again, "--ckpt_path", "last"])
    assert_same(*map(outcome, outputs))
    assert min(place for *place, _ in prepared) == [1, 3]
    assert threading.main_thread() not in {thread for *_, thread in prepared}
