import platform

import pytest
import torch
import yaml
from lightning.fabric.accelerators import MPSAccelerator
from lightning.pytorch.callbacks import ModelCheckpoint

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.stored import dropped_keys
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
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    return lambda *options: GileCLI(runs.arguments(tmp_path / "run", *options), "test", "")


def test_objects_of_a_configuration(cli, tmp_path):
    own = '[{"class_path": "gile_testing.runs.Interrupt"}]'
    options = ("--trainer.callbacks", own, "--checkpoint_every", "9", "--seed_everything", "7")
    stopping = ("--early_stopping.monitor", "val/ranking_loss", "--early_stopping.mode", "min")
    made = cli(*options, *stopping)
    assert isinstance(made.model, NeuralSystem)
    assert made.model.hparams["output"]["class_path"] == f"{GILE.__module__}.GILE"
    assert isinstance(made.datamodule, BioASQ)
    assert made.model.hparams["seed"] == made.datamodule.seed == 7
    assert (made.output, made.resume) == (tmp_path / "run", None)
    assert not made.output.exists()  # nothing is written before there is something to write

    found = {type(callback).__name__: callback for callback in made.trainer.callbacks}
    assert "Interrupt" in found
    assert "ProgressBar" not in found
    kinds = (History, PlateauEarlyStopping, LastCheckpoint, ModelCheckpoint)
    assert all(sum(isinstance(c, kind) for c in made.trainer.callbacks) == 1 for kind in kinds)
    assert found["LastCheckpoint"].every_n_train_steps == 9
    assert found["LastCheckpoint"].path == tmp_path / "run/checkpoints/last.ckpt"
    best = found["BestCheckpoint"]
    assert best.dirpath == str(tmp_path / "run/checkpoints")
    assert (best.monitor, best.mode) == ("val/ranking_loss", "min")
    assert isinstance(made.trainer.strategy.checkpoint_io, AtomicCheckpointIO)
    assert made.trainer.logger is None

    config = yaml.safe_load(made.resolved())
    assert not {"config", "output", "ckpt_path"} & set(config)
    assert config["data"]["init_args"]["builtin_documents"] == runs.DOCUMENTS
    assert config["early_stopping"]["plateau"] == 30  # also what nobody set
    assert "seed" not in config["model"]  # it follows seed_everything
    assert dropped_keys(made.config) == set()


def test_progress_bar_and_tracker_by_default(cli):
    made = cli("--trainer.enable_progress_bar", "null", "--trainer.logger", "null")
    assert type(made.trainer.progress_bar_callback).__name__ == "ProgressBar"
    assert isinstance(made.trainer.logger, RunLogger)


def test_a_resolved_configuration_makes_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--data", "BioASQ", "--trainer.logger", "false"]
    made = GileCLI(["--config", "fast", *options], "test", "")
    (tmp_path / "run.yaml").write_text(made.resolved())
    again = GileCLI(["--config", "run.yaml"], "test", "")
    hparams = [dict(x.model.hparams) for x in (made, again)]
    before, after = (x.pop("norm") for x in hparams)
    assert hparams[0] == hparams[1]
    assert before["class_path"] == after["class_path"]
    assert before["init_args"].items() <= after["init_args"].items()  # which names defaults too


def test_the_configuration_is_printed_with_the_defaults(capsys):
    with pytest.raises(SystemExit):
        GileCLI(["--data.batch_size", "7", "--data", "BioASQ", "--print_config"], "test", "")
    config = yaml.safe_load(capsys.readouterr().out)
    assert config["data"]["init_args"]["batch_size"] == 7  # though its class comes later
    norm, optimizer = (config["model"]["init_args"][key] for key in ("norm", "optimizer"))
    assert (norm["class_path"], optimizer["class_path"]) == (
        "torch.nn.LayerNorm",
        "torch.optim.Adam",
    )
    assert norm["init_args"]["elementwise_affine"] is False


def test_null_takes_a_part_of_a_part_away(cli):
    def start(*options):
        return cli(*options).model.hparams["embedding"]["init_args"]["start"]

    lsa = ("--model.embedding.start", "gile_lightning.network.encoders.LSA")
    assert start(*lsa)["class_path"].endswith(".LSA")
    assert start(*lsa, "--model.embedding.start", "null") is None
    assert start(*lsa, "--model.embedding.start=null") is None
    columns = cli("--data.columns.year", "null").datamodule.columns
    assert (columns.year, columns.id) == (None, "pmid")


@pytest.fixture
def mac(monkeypatch):
    """Makes this machine one with MPS."""
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    MPSAccelerator.is_available.cache_clear()
    yield
    MPSAccelerator.is_available.cache_clear()


@pytest.mark.filterwarnings("ignore:GPU available but not used")
@pytest.mark.parametrize(("asked", "device"), [("auto", "cpu"), ("mps", "mps")])
def test_mps_only_where_it_is_asked_for(mac, cli, capsys, asked, device):
    made = cli("--trainer.accelerator", asked)
    assert made.trainer.strategy.root_device.type == device
    assert ("computing on the CPU" in capsys.readouterr().out) == (asked == "auto")


def test_names_of_a_configuration_and_a_class_and_the_keys_that_it_lacks(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    options = ["--model", "AiTextML", "--trainer.logger", "false"]
    made = GileCLI(["--config", "bioasq", *options], "test", "")
    assert made.output.parts[:2] == ("runs", "bioasq")
    assert isinstance(made.model, AiTextML)
    (line,) = [x for x in capsys.readouterr().out.splitlines() if "left out" in x]
    assert line.startswith("gile_lightning.systems.baselines.AiTextML does not take ")
    lacking = set(line.partition(" take ")[2].partition(" of ")[0].split(", "))
    before = yaml.safe_load(runs.CONFIG.read_text())["model"].keys()
    kept = yaml.safe_load(made.resolved())["model"]["init_args"].keys()
    assert lacking == before - kept
    assert lacking >= {"encoder", "output"}


def test_keys_that_the_next_class_of_a_part_lacks(cli, capsys):
    cli("--model.sampler", "gile_lightning.training.samplers.AllLabels")
    assert "training.samplers.AllLabels does not take rate " in capsys.readouterr().out


def test_invented_texts_take_no_place_of_named_data(cli, tmp_path, capsys):
    def announce(*options):
        made = cli(*options)
        made.announce(made.datamodule)

    file, model = tmp_path / "mine.yaml", tmp_path / "model.yaml"
    file.write_text(yaml.safe_dump({"data": {"init_args": {"path": "mine"}}}))
    model.write_text(
        yaml.safe_dump({"data": {"class_path": "BioASQ", "init_args": {"path": None}}})
    )
    for asked in ((), ("--config", file, "--data.path", "null")):
        announce("--config", model, *asked)
        assert "using the built-in corpus of invented texts" in capsys.readouterr().out
    announce("--config", model, "--config", file)
    announce("--config", file, "--config", model, "--data.path", "other")
    assert not capsys.readouterr().out
    with pytest.raises(
        InputError, match=r"mine\.yaml names data \(mine\), but a later .* last, or"
    ):
        announce("--config", file, "--config", model)
    attack = ("--data", "ATTACK", "--data.label_words", "true")
    announce(*attack)
    announce("--config", file, *attack, "--data.path", "null")
    with pytest.raises(InputError, match=r"so the corpus of ATTACK would take their place"):
        announce("--config", file, "--config", "attack")
    with pytest.raises(InputError, match=r"^--data.path names data \(other\), but a later conf"):
        announce("--data.path", "other", "--config", model)
    made = cli("--config", file, "--config", model)
    file.unlink()  # as that which a checkpoint holds
    with pytest.raises(InputError, match=r"^the configuration of the run names data \(mine\), but"):
        made.announce(made.datamodule)
