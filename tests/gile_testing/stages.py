"""The stages of work that faults strike, each as a small command, and what it must come to."""

import csv
import functools
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import optuna
import torch

from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.common.files import checksum
from gile_lightning.search.storage import open_storage, quiet_optuna
from gile_testing import children, runs

TIMED = ("seconds", "documents_per_second", "documents per second", "train/data_wait")
ENCODER = "gile_lightning.network.encoders.Pretrained"
PRETRAINED = (
    *("--data.pretrained", "all-MiniLM-L6-v2", "--data.max_subwords", "16"),
    *("--model.encoder", ENCODER, "--model.label_encoder", ENCODER),
)
KEYS = {"builtin_documents": 120, "min_count": 2, "batch_size": 32}
TIMEOUT = 300


class Stage(NamedTuple):
    """A command below a folder that is empty at first.

    Attributes:
        module: the command.
        arguments: of it, by the folder.
        result: what it has come to, without times.
    """

    module: str
    arguments: Callable[[Path], list[str]]
    result: Callable[[Path], Any]


class Ended(NamedTuple):
    status: int
    printed: str


def run(stage: Stage, folder: Path, **fault: Any) -> Ended:
    """Run a stage in a process of its own, with a fault; go on with a fit that has begun."""
    arguments = stage.arguments(folder)
    if stage.module.endswith(".fit") and (folder / "run/config.yaml").is_file():
        arguments += ["--ckpt_path", "last"]
    # not beside the folder, whose disk may be full
    log = Path(tempfile.mkstemp(prefix="log-", suffix=".txt")[1])
    program = (log, "gile_testing.faults", json.dumps(fault), stage.module, *arguments)
    with children.forked(*program, folder=folder) as process:
        status = process.wait(TIMEOUT)
    printed = log.read_text()
    log.unlink()
    return Ended(status, printed)


def unlike_time(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if not key.endswith(TIMED)}


def of_run(folder: Path) -> Any:
    """The scores, the history and the weights of a fit."""
    with (folder / "run/metrics.csv").open() as file:
        history = [unlike_time(row) for row in csv.DictReader(file)]
    last = torch.load(folder / "run/checkpoints/last.ckpt", weights_only=True)
    weights = {name: weight.tolist() for name, weight in last["state_dict"].items()}
    metrics = read_metrics(folder / "run")
    return unlike_time(metrics), history, weights


def of_shards(folder: Path) -> Any:
    """The files of the encoded corpus; `meta.json` names a file with its time."""
    (meta,) = folder.glob("cache/*/meta.json")
    return {file.name: checksum(file) for file in meta.parent.iterdir() if file.name != "meta.json"}


def of_scores(folder: Path) -> Any:
    return unlike_time(read_metrics(folder / "scored"))


def of_study(folder: Path) -> Any:
    quiet_optuna()
    url = f"sqlite:///{folder / 'study/study.db'}"
    trials = optuna.load_study(study_name="study", storage=open_storage(url)).get_trials()
    complete = [trial for trial in trials if trial.state.name == "COMPLETE"]
    return sorted((sorted(trial.params.items()), trial.values) for trial in complete)


def of_table(folder: Path) -> Any:
    with (folder / "tables/table2/table.csv").open(encoding="utf-8") as file:
        return [unlike_time(row) for row in csv.DictReader(file)]


def keys(folder: Path) -> list[str]:
    data = {f"data.{key}": value for key, value in KEYS.items()}
    more = {"data.cache_dir": folder / "cache", "trainer.max_epochs": 2}
    more |= {"model.encoder.layer.dim": 12, "model.output.joint_dim": 12}
    more |= {"trainer.accelerator": "cpu", "trainer.logger": "false", "checkpoint_every": 1}
    return [str(part) for key, value in (data | more).items() for part in (f"--{key}", value)]


def fitting(folder: Path, *more: str) -> list[str]:
    output = ["--config", str(runs.CONFIG), "--output", str(folder / "run")]
    bar = ["--trainer.enable_progress_bar", "false"]
    return [*output, *keys(folder), *bar, *more]


def pretrained(folder: Path) -> list[str]:
    given = fitting(folder)
    at = given.index("--model.encoder.layer.dim")  # which the encoder does not have
    return [*given[:at], *given[at + 2 :], *PRETRAINED]


def sweeping(folder: Path) -> list[str]:
    config = folder / "sweep.yaml"
    space = {"model.output.joint_dim": {"choices": [8, 16]}}
    sampler = {"class_path": "optuna.samplers.BruteForceSampler"}
    config.write_text(json.dumps({"sweep": {"space": space, "trials": 2, "sampler": sampler}}))
    given = ["--config", str(runs.CONFIG), "--config", str(config)]
    return [*given, "--output", str(folder / "study"), *keys(folder), "--sweep.heartbeat", "2"]


def reproducing(folder: Path) -> list[str]:
    given = ["--table", "2", "--rows", "WAN", "--seeds", "1", "--jobs", "1"]
    rest = keys(folder)
    at = rest.index("--model.output.joint_dim")  # which WAN does not have
    return [*given, "--output", str(folder / "tables"), "--", *rest[:at], *rest[at + 2 :]]


@functools.cache
def trained() -> Path:
    """A run to score and to predict with."""
    folder = Path(tempfile.mkdtemp(dir=runs.folder())) / "work"
    folder.mkdir()
    ended = run(STAGES["fit"], folder)
    assert ended.status == 0, ended.printed
    return folder / "run"


def evaluating(folder: Path) -> list[str]:
    data = ["--data.cache_dir", str(folder / "cache")]  # where the corpus is encoded for the model
    return ["--checkpoint", str(trained()), *data, "--output", str(folder / "scored")]


def predicting(folder: Path) -> list[str]:
    (folder / "in.txt").write_text("Scarring of the liver.\nZinc and the heart.\n" * 400)
    output = ["--input", str(folder / "in.txt"), "--output", str(folder / "out.jsonl")]
    return ["--checkpoint", str(trained()), *output]


def exporting(folder: Path) -> list[str]:
    return ["--checkpoint", str(trained()), "--output", str(folder / "model")]


def of_folder(folder: Path) -> Any:
    """Every file of the exported model."""
    files = [file for file in (folder / "model").rglob("*") if file.is_file()]
    return {str(file.relative_to(folder)): checksum(file) for file in files}


STAGES = {
    "encoding": Stage("gile_lightning.prepare", lambda f: fitting(f)[:-2], of_shards),
    "vectors": Stage("gile_lightning.fit", pretrained, of_run),
    "fit": Stage("gile_lightning.fit", fitting, of_run),
    "evaluation": Stage("gile_lightning.evaluate", evaluating, of_scores),
    "sweep": Stage("gile_lightning.sweep", sweeping, of_study),
    "reproduce": Stage("gile_lightning.reproduce", reproducing, of_table),
    "predict": Stage("gile_lightning.predict", predicting, lambda f: (f / "out.jsonl").read_text()),
    "export": Stage("gile_lightning.export", exporting, of_folder),
}
