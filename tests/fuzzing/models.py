"""Readers of models: checkpoints, exported folders, the authors' weights."""

import functools
import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import torch

from fuzzing.target import Target, part_of
from gile_lightning import load
from gile_lightning.commands.stored import stored_configuration
from gile_lightning.common.factories import instantiate
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer
from gile_lightning.released import read_weights
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.loading import read_model
from gile_lightning.training.checkpoint import HPARAMS
from gile_lightning.training.model_folder import write_folder
from gile_testing import released_oracle as oracle

CONFIG = "seed_everything: 3\nmodel: {class_path: gile_lightning.systems.NeuralSystem}\n"
NETWORK = "gile_lightning.network"
SMALL = {  # the parts of a model without training
    "embedding": {
        "class_path": f"{NETWORK}.encoders.WordEmbedding",
        "init_args": {"dim": 2},
    },
    "encoder": {"class_path": f"{NETWORK}.encoders.Mean"},
    "output": {"class_path": f"{NETWORK}.outputs.GILE", "init_args": {"joint_dim": 2}},
    "matchers": [{"class_path": f"{NETWORK}.matchers.NameMention"}],
}
ARGUMENTS = {"share": "none", "enc": "attdense", "gruact": "tanh", "wdim": 2, "sdim": 3, "ddim": 3}


@functools.cache
def checkpoint() -> dict[str, Any]:
    """Return a checkpoint of a model without training, as small as can be."""
    torch.manual_seed(1)
    system: Any = instantiate(NeuralSystem, SMALL)
    labels = LabelSet(["a", "b", "c"], ["the cat", "a dog", "cat"], [2, 1, 0], 3)
    system.config = CONFIG
    system.build({"text": Task(Tokenizer(["the", "cat", "dog", UNKNOWN]), labels)})
    made: dict[str, Any] = {
        **{"epoch": 1, "global_step": 2, "pytorch-lightning_version": "2.6.6"},
        **{"state_dict": system.state_dict(), HPARAMS: dict(system.hparams)},
    }
    system.on_save_checkpoint(made)
    return made


@functools.cache
def _file() -> bytes:
    file = io.BytesIO()
    torch.save(checkpoint(), file)
    return file.getvalue()


@functools.cache
def records() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(_file())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _pickle() -> bytes:
    return next(content for name, content in records().items() if name.endswith("/data.pkl"))


@functools.cache
def _exported() -> Path:
    folder = Path(tempfile.mkdtemp())
    write_folder(checkpoint(), folder)
    return folder


@functools.cache
def _hdf5() -> list[bytes]:
    path, made = Path(tempfile.mkdtemp()) / "weights.h5", []
    for output in ("gile", "linear 1"):
        tables = oracle.names(("none", "attdense", output), 1)
        weights = oracle.draw(tables, [4], 2, dim=2, width=3)
        oracle.write(path, oracle.tensors(weights, output == "linear 1"))
        made.append(path.read_bytes())
    return made


def _load(path: Path) -> None:
    """Load a model, and label a text with it."""
    load(path).predict(["the cat", ""])


def _load_file(path: Path) -> None:
    _load(path)
    with stored_configuration(read_model(path)) as config:
        assert Path(config).is_file()


def _load_pickle(path: Path) -> None:
    """Read a checkpoint whose structure is the file, and whose tensors are as they were."""
    file = path.with_name("model.ckpt")
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in records().items():
            archive.writestr(name, path.read_bytes() if name.endswith("/data.pkl") else content)
    _load_file(file)


def _read_hdf5(path: Path) -> None:
    args = path.with_name("args.json")
    linear = b"timedistributed" in path.read_bytes()
    args.write_text(json.dumps(ARGUMENTS | {"languages": ["english"], "la": not linear}))
    read_weights(path, args)


TARGETS = {
    "checkpoint": Target("some.ckpt", lambda: [_file()], _load_file),
    "checkpoint pickle": Target("data.pkl", lambda: [_pickle()], _load_pickle),
    "exported config": part_of(_exported, "config.json", _load),
    "exported labels": part_of(_exported, "text/labels.jsonl", _load),
    "exported words": part_of(_exported, "text/vocabulary.txt", _load),
    "exported weights": part_of(_exported, "model.safetensors", _load),
    "Keras HDF5": Target("weights.h5", _hdf5, _read_hdf5),
}
