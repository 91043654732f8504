import copy
from types import SimpleNamespace

import pytest
import torch

from gile_lightning.commands import reranking, scoring
from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.systems.loading import load_system, restore
from gile_lightning.training.checkpoint import HPARAMS, STATE, read_checkpoint
from gile_testing import runs


@pytest.fixture
def checkpoint():
    return read_checkpoint(runs.trained().output)


def test_the_system_comes_back(checkpoint):
    system = load_system(checkpoint)
    weights = system.state_dict()
    assert weights.keys() == checkpoint["state_dict"].keys()
    assert all(torch.equal(weights[key], w) for key, w in checkpoint["state_dict"].items())
    assert system.hparams == checkpoint[HPARAMS]
    assert system.thresholds == checkpoint[STATE]["thresholds"]


def test_vectors_of_labels_are_kept_where_the_corpus_is(checkpoint, tmp_path, monkeypatch):
    folders = []
    system = load_system(checkpoint)
    monkeypatch.setattr(type(system), "build", lambda self, *_: folders.append(self.cache_dir))
    monkeypatch.setattr(type(system), "load_state_dict", lambda *_: None)
    restore(system, checkpoint, tmp_path)
    assert folders == [tmp_path]


@pytest.mark.parametrize("module", [scoring, reranking])
def test_commands_restore_with_the_cache_of_the_corpus(module, checkpoint, tmp_path, monkeypatch):
    class FoundError(Exception):
        pass

    def restore(*given):
        raise FoundError(*given)

    data = SimpleNamespace(cache_dir=tmp_path, subword_tokenizer=lambda: Tokenizer(["UNK"]))
    cli = SimpleNamespace(model="model", datamodule=data, trainer=None, announce=id)
    for name, function in {"restore": restore, "_corpus": lambda *_: data}.items():
        monkeypatch.setattr(module, name, function, raising=False)
    with pytest.raises(FoundError) as found:
        (scoring.run_test if module is scoring else reranking._first_stage)(cli, checkpoint)
    assert found.value.args == ("model", checkpoint, tmp_path)


def test_what_cannot_be_imported(checkpoint):
    other = copy.deepcopy(checkpoint)
    other[HPARAMS]["encoder"]["class_path"] = "somebody.elses.Encoder"
    with pytest.raises(InputError, match=r"cannot import somebody\.elses\.Encoder"):
        load_system(other)
    checkpoint[STATE]["class_path"] = "gile_lightning.network.encoders.Mean"
    with pytest.raises(InputError, match="as its model, which is no System"):
        load_system(checkpoint)


def test_weights_without_words(checkpoint):
    checkpoint[STATE]["tasks"]["english"] = None
    with pytest.raises(InputError, match="imported weights without words: import them with"):
        load_system(checkpoint)
