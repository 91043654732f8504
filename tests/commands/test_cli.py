import os
import platform
import time

import pytest
import torch
import yaml
from lightning.fabric.accelerators import MPSAccelerator
from lightning.pytorch.callbacks import ModelCheckpoint

from gile_lightning import fit
from gile_lightning.commands.cli import GileCLI, dropped
from gile_lightning.common.errors import InputError
from gile_lightning.data import BioASQ
from gile_lightning.network.outputs import GILE
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.baselines import AiTextML
from gile_lightning.tracking.history import History
from gile_lightning.tracking.wandb_logger import RunLogger
from gile_lightning.training.callbacks import LastCheckpoint, PlateauEarlyStopping
from gile_lightning.training.checkpoint import AtomicCheckpointIO
from gile_testing import runs


@pytest.fixture
def cli(tmp_path, monkeypatch):
    """Makes the command line's objects, with run folders below the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GILE_LIGHTNING_RUN", raising=False)
    monkeypatch.delenv("LOCAL_RANK", raising=False)

    def make(*options, output=None):
        return GileCLI(runs.arguments(output, *options), "test", "A test.")

    return make


def finished(folder, seconds_ago=0):
    """Make what a run leaves when it was killed."""
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "config.yaml").touch()
    last = folder / "checkpoints/last.ckpt"
    last.touch()
    os.utime(last, (time.time() - seconds_ago,) * 2)
    return last


def test_what_a_configuration_makes(cli, tmp_path):
    made = cli("--seed_everything", "7", output=tmp_path / "run")
    assert isinstance(made.model, NeuralSystem)
    assert made.model.hparams["output"]["class_path"] == f"{GILE.__module__}.GILE"
    assert made.model.hparams["seed"] == 7
    assert isinstance(made.datamodule, BioASQ)
    assert made.datamodule.seed == 7
    assert made.datamodule.batch_size == 32
    assert made.output == tmp_path / "run"
    assert made.resume is None
    assert not made.output.exists()  # nothing is written before there is something to write


def test_callbacks_of_a_run(cli, tmp_path):
    own = '[{"class_path": "gile_testing.runs.Interrupt"}]'
    made = cli("--trainer.callbacks", own, "--checkpoint_every", "9", output=tmp_path / "run")
    found = {type(callback).__name__: callback for callback in made.trainer.callbacks}
    assert {"Interrupt", "History", "PlateauEarlyStopping", "LastCheckpoint"} <= set(found)
    assert found["LastCheckpoint"].every_n_train_steps == 9
    assert found["LastCheckpoint"].path == tmp_path / "run/checkpoints/last.ckpt"
    assert found["ModelCheckpoint"].dirpath == str(tmp_path / "run/checkpoints")
    kinds = (History, PlateauEarlyStopping, LastCheckpoint, ModelCheckpoint)
    assert all(sum(isinstance(c, kind) for c in made.trainer.callbacks) == 1 for kind in kinds)
    assert isinstance(made.trainer.strategy.checkpoint_io, AtomicCheckpointIO)
    assert "ProgressBar" not in found
    assert made.trainer.logger is None


def test_progress_bar_and_tracker_by_default(cli):
    made = cli("--trainer.enable_progress_bar", "null", "--trainer.logger", "null")
    assert type(made.trainer.progress_bar_callback).__name__ == "ProgressBar"
    assert isinstance(made.trainer.logger, RunLogger)


def test_the_best_is_chosen_as_training_stops(cli):
    monitor = ("--early_stopping.monitor", "val/ranking_loss", "--early_stopping.mode", "min")
    best = cli(*monitor).trainer.checkpoint_callback
    assert (best.monitor, best.mode) == ("val/ranking_loss", "min")


def test_resolved_configuration_has_no_run_in_it(cli, tmp_path):
    made = cli(output=tmp_path / "run")
    config = yaml.safe_load(made.resolved())
    assert not {"config", "output", "ckpt_path"} & set(config)
    assert config["data"]["init_args"]["builtin_documents"] == runs.DOCUMENTS
    assert config["early_stopping"]["plateau"] == 30  # also what nobody set
    assert "seed" not in config["model"]  # it follows seed_everything


def test_resolved_configuration_of_what_nobody_set(tmp_path):
    given = ["--data", "BioASQ", "--trainer.logger", "false"]
    made = GileCLI(["--config", "fast", *given], "test", "A test.")
    (tmp_path / "run.yaml").write_text(made.resolved())
    again = GileCLI(["--config", str(tmp_path / "run.yaml")], "test", "A test.")
    parts = [{**x.model.parts} for x in (made, again)]
    before, after = (x.pop("norm") for x in parts)
    assert parts[0] == parts[1]
    assert before["class_path"] == after["class_path"]
    assert before["init_args"].items() <= after["init_args"].items()  # which names defaults too


# --- where a run is kept ---


def test_a_run_folder_has_the_name_of_its_configuration(cli):
    output = cli().output
    assert output.parts[:2] == ("runs", "bioasq")
    assert time.strptime(output.name, "%Y-%m-%d_%H-%M-%S")


def test_used_output(cli, tmp_path):
    finished(tmp_path / "run")
    with pytest.raises(InputError, match="holds a run already; go on with it"):
        cli(output=tmp_path / "run")


@pytest.mark.parametrize("rank", ["RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID"])
def test_other_processes_of_a_run_find_it_there(cli, tmp_path, monkeypatch, rank):
    """The first one may have written it before they look."""
    monkeypatch.delenv("GILE_LIGHTNING_STARTER", raising=False)
    finished(tmp_path / "run")
    monkeypatch.setenv("LOCAL_RANK", "0")  # the first one of its node
    monkeypatch.setenv(rank, "1")
    assert cli(output=tmp_path / "run").output == tmp_path / "run"


def test_last_of_an_output(cli, tmp_path):
    last = finished(tmp_path / "run")
    made = cli("--ckpt_path", "last", output=tmp_path / "run")
    assert (made.output, made.resume) == (tmp_path / "run", last)


def test_last_of_all_runs_is_the_newest(cli, tmp_path):
    for name, age in (("a", 50), ("b", 10), ("c", 30)):
        finished(tmp_path / "runs/bioasq" / name, age)
    finished(tmp_path / "runs/other/d")
    assert cli("--ckpt_path", "last").resume.parts[-3:] == ("b", "checkpoints", "last.ckpt")


def test_killed_before_the_first_checkpoint(cli, tmp_path, capsys):
    finished(tmp_path / "run").unlink()
    assert cli("--ckpt_path", "last", output=tmp_path / "run").resume is None
    assert "has no checkpoint yet: starting from the beginning" in capsys.readouterr().out


def test_done_and_its_newest_checkpoint_dropped(cli, tmp_path):
    finished(tmp_path / "run").unlink()
    (tmp_path / "run/metrics.json").touch()
    with pytest.raises(InputError, match=r"run: done, and without checkpoints/last\.ckpt"):
        cli("--ckpt_path", "last", output=tmp_path / "run")


def test_a_checkpoint_by_its_path(cli, tmp_path):
    last = finished(tmp_path / "run")
    made = cli("--ckpt_path", last, output=tmp_path / "new")
    assert (made.output, made.resume) == (tmp_path / "new", last)


@pytest.mark.parametrize("output", [None, "empty"])
def test_nothing_to_go_on_with(cli, tmp_path, output):
    with pytest.raises(InputError, match="no run"):
        cli("--ckpt_path", "last", output=output and tmp_path / output)


def test_null_takes_a_part_of_a_part_away(cli):
    def start(*options):
        return cli(*options).model.hparams["embedding"]["init_args"]["start"]

    given = ("--model.embedding.start", "gile_lightning.network.encoders.LSA")
    assert start(*given)["class_path"].endswith(".LSA")
    assert start(*given, "--model.embedding.start", "null") is None
    assert start(*given, "--model.embedding.start=null") is None


def test_null_takes_a_column_away(cli):
    columns = cli("--data.columns.year", "null").datamodule.columns
    assert columns.year is None
    assert columns.id == "pmid"


@pytest.fixture
def mac(monkeypatch):
    """Makes this machine one with MPS."""
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    MPSAccelerator.is_available.cache_clear()
    yield
    MPSAccelerator.is_available.cache_clear()


@pytest.mark.filterwarnings("ignore:GPU available but not used")
@pytest.mark.parametrize(("asked", "taken"), [("auto", "cpu"), ("null", "cpu"), ("mps", "mps")])
def test_mps_is_taken_only_where_it_is_asked_for(mac, cli, capsys, tmp_path, asked, taken):
    made = cli("--trainer.accelerator", asked, output=tmp_path / "run")
    assert made.trainer.strategy.root_device.type == taken
    assert ("computing on the CPU" in capsys.readouterr().out) == (asked != "mps")


@pytest.mark.filterwarnings("ignore:GPU available but not used")
def test_a_fit_on_a_mac(mac, tmp_path):
    options = ("--trainer.accelerator", "auto", "--data.builtin_documents", "150")
    done = runs.call(fit.main, *runs.arguments(tmp_path / "run", *options, epochs=1))
    assert done.result["test.seen.documents"] > 0, done.errors


# --- configurations and classes by their names ---


def test_a_shipped_configuration_by_its_name(cli):
    made = GileCLI(["--config", "bioasq", "--trainer.logger", "false"], "test", "A test.")
    assert made.output.parts[:2] == ("runs", "bioasq")
    assert isinstance(made.datamodule, BioASQ)


def test_a_class_by_its_name_and_what_it_does_not_take(cli, capsys):
    made = GileCLI(
        ["--config", "bioasq", "--model", "AiTextML", "--trainer.logger", "false"],
        "test",
        "A test.",
    )
    assert isinstance(made.model, AiTextML)
    (line,) = [x for x in capsys.readouterr().out.splitlines() if "left out" in x]
    assert line.startswith("gile_lightning.systems.baselines.AiTextML does not take ")
    lacking = set(line.partition(" take ")[2].partition(" of ")[0].split(", "))
    given = yaml.safe_load(runs.CONFIG.read_text())["model"].keys()
    kept = yaml.safe_load(made.resolved())["model"]["init_args"].keys()
    assert lacking == given - kept
    assert lacking >= {"encoder", "output"}


def test_keys_of_a_part_that_the_next_one_does_not_take(cli, capsys):
    assert dropped(cli().config) == set()
    capsys.readouterr()
    cli("--model.sampler", "gile_lightning.training.samplers.AllLabels")
    assert (
        "gile_lightning.training.samplers.AllLabels does not take rate " in capsys.readouterr().out
    )
