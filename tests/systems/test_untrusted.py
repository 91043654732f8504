"""A checkpoint of unknown origin calls nothing, whatever it names and wherever."""

import copy
import os
import subprocess

import pytest
import yaml

from gile_lightning import evaluate, fit, load
from gile_lightning.commands.stored import stored_configuration
from gile_lightning.common.errors import InputError
from gile_lightning.training.checkpoint import HPARAMS, STATE, AtomicCheckpointIO, read_checkpoint
from gile_testing import children, runs

CALLS = {  # what is named, by a name for the test
    "os.system": {"class_path": "os.system", "init_args": {"command": "touch called"}},
    "subprocess.Popen": {
        "class_path": "subprocess.Popen",
        "init_args": {"args": ["touch", "called"]},
    },
    "builtins.exec": {
        "class_path": "builtins.exec",
        "init_args": {"source": "open('called', 'w')"},
    },
    "a function": "os.system",
    "a builtin function": "builtins.exec",
    "another module": {
        "class_path": f"{children.__name__}.subprocess.Popen",
        "init_args": {"args": ["touch"]},
    },
    "a function of ours": "gile_lightning.fit.main",
    "a module of another library": {
        "class_path": "sentence_transformers.SentenceTransformer",
        "init_args": {"model_name_or_path": "called", "trust_remote_code": True},
    },
}
PARTS = ("embedding", "encoder", "label_encoder", "output", "norm", "sampler", "matchers")
PARTS += ("label_residual", "loss", "optimizer", "schedule")
NESTED = {  # where in a known part
    "embedding": {
        "class_path": "gile_lightning.network.encoders.WordEmbedding",
        "init_args": {"vectors": 0},
    },
    "encoder": {"class_path": "gile_lightning.network.encoders.WAN", "init_args": {"layer": 0}},
    "output": {"class_path": "gile_lightning.network.outputs.GILE", "init_args": {"activation": 0}},
}


@pytest.fixture(scope="module")
def sound():
    """A sound checkpoint, as `read_checkpoint` returns it."""
    return read_checkpoint(runs.trained().best)


@pytest.fixture
def called(tmp_path, monkeypatch):
    """Return what has been called, by name or by its traces."""
    monkeypatch.chdir(tmp_path)
    calls = []
    monkeypatch.setattr(os, "system", lambda *args: calls.append(args))
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **kwargs: calls.append(args))
    return lambda: calls or [path for path in tmp_path.iterdir() if "called" in path.name]


def written(checkpoint, folder):
    AtomicCheckpointIO().save_checkpoint(checkpoint, folder / "bad.ckpt")
    return folder / "bad.ckpt"


def placed(call, part):
    """Return the value of a part, or of one in it, that names a call."""
    key, _, nested = part.partition(".")
    if not nested:
        return key, [call] if key == "matchers" else call
    spec = copy.deepcopy(NESTED[key])
    spec["init_args"][nested] = call
    return key, spec


PLACES = [*PARTS, "embedding.vectors", "encoder.layer", "output.activation", "new"]


def harmless(call, part):
    """A file is named by text, also one that reads like an import path."""
    return isinstance(call, str) and part == "embedding.vectors"


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_model_is_made_of_parts_alone(call, sound, called, tmp_path):
    for part in PLACES:
        key, value = placed(call, part)
        path = written(sound | {HPARAMS: sound[HPARAMS] | {key: value}}, tmp_path)
        if not harmless(call, part):
            with pytest.raises(InputError):
                load(path)
        assert not called(), part
    if isinstance(call, dict):
        state = sound[STATE] | {"class_path": call["class_path"]}
        with pytest.raises(InputError):
            load(written(sound | {STATE: state, HPARAMS: call["init_args"]}, tmp_path))
        assert not called()


CONFIG = {
    "model": {"class_path": "gile_lightning.systems.NeuralSystem", "init_args": {}},
    "data": {"class_path": "gile_lightning.data.Corpus", "init_args": {"path": "x"}},
}


def bad_configurations(call):
    for part in PLACES:
        if not harmless(call, part):
            key, value = placed(call, part)
            yield CONFIG | {"model": CONFIG["model"] | {"init_args": {key: value}}}
    if isinstance(call, dict):
        for key in ("word_vectors", "path"):
            yield CONFIG | {"data": CONFIG["data"] | {"init_args": {key: call}}}
    yield CONFIG | {"model": call}
    yield CONFIG | {"data": call}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_configuration_names_parts_alone(call, sound, called, tmp_path):
    for config in bad_configurations(call):
        checkpoint = sound | {STATE: sound[STATE] | {"config": yaml.safe_dump(config)}}
        if isinstance(call, dict):
            with pytest.raises(InputError), stored_configuration(checkpoint):
                pass
        else:  # a name, which the parser understands
            done = runs.call(evaluate.main, "--checkpoint", written(checkpoint, tmp_path))
            assert done.status == 2, config
        assert not called(), config
    done = runs.call(fit.main, "--start_from", written(checkpoint, tmp_path))
    assert done.status == 2
    assert not called()


@pytest.mark.parametrize("key", ["trainer", "trainer.callbacks", "config", "output", "ckpt_path"])
def test_other_sections_are_left_alone(key, sound, called, tmp_path):
    value = {"callbacks": [CALLS["os.system"]]} if key == "trainer" else [CALLS["os.system"]]
    config = CONFIG | {key: value, "model": {"class_path": "os.system"}}
    state = sound[STATE] | {"config": yaml.safe_dump(config)}
    done = runs.call(evaluate.main, "--checkpoint", written(sound | {STATE: state}, tmp_path))
    assert done.status == 2
    assert not called()


def test_a_checkpoint_without_a_configuration(sound, tmp_path):
    path = written(sound | {STATE: sound[STATE] | {"config": ""}}, tmp_path)
    done = runs.call(evaluate.main, "--checkpoint", path)
    assert done.status == 2
    assert "the checkpoint holds no configuration" in done.errors


def test_a_language_that_is_no_plain_name_is_refused(sound, tmp_path):
    (task,) = sound[STATE]["tasks"].values()
    state = sound[STATE] | {"tasks": {"../../x": task}}
    with pytest.raises(InputError, match=r"'\.\./\.\./x' cannot be the name of a language"):
        load(written(sound | {STATE: state}, tmp_path))
