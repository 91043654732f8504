import io
import json
import os
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from gile_lightning.common.errors import InputError
from gile_lightning.common.factories import Configured, describe, instantiate
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import (
    PPMI,
    WAN,
    Dense,
    IdfMean,
    Mean,
    SumPooling,
    WordEmbedding,
)
from gile_lightning.network.outputs import GILE, Linear
from gile_lightning.systems import NeuralSystem
from gile_lightning.training.losses import SoftmaxCrossEntropy
from gile_lightning.training.samplers import (
    HardLabels,
    PopularLabels,
    SharedUniformLabels,
    UniformLabels,
)

ENCODERS = "gile_lightning.network.encoders"
WAN_5 = {
    "class_path": f"{ENCODERS}.wan.WAN",
    "init_args": {
        "layer": {"class_path": f"{ENCODERS}.layers.Dense", "init_args": {"dim": 5}},
        "pooling": {"class_path": f"{ENCODERS}.pooling.SumPooling", "init_args": {}},
    },
}
PARTS = {
    "defaults": {},
    "others": {
        "embedding": partial(WordEmbedding, dim=7, vectors=Path("my/vectors.txt"), trainable=False),
        "encoder": partial(WAN, layer=partial(Dense, dim=5), pooling=SumPooling),
        "label_encoder": WAN,
        "output": partial(GILE, joint_dim="matched", activation=nn.Tanh),
        "norm": nn.Identity,
        "sampler": SharedUniformLabels(rate=0.5),
        "optimizer": partial(torch.optim.SGD, lr=0.1, momentum=0.9),
        "without_positive": "released",
        "seed": 3,
    },
    "linear": {
        "output": Linear,
        "encoder": Mean,
        "sampler": HardLabels(PopularLabels(0.2, exponent=0.5), hard=3, random=2),
        "loss": SoftmaxCrossEntropy(),
    },
    "learned": {
        "embedding": partial(WordEmbedding, start=PPMI(window=2, smoothing=1.0)),
        "encoder": partial(IdfMean, learned=True),
    },
}


def named(part):
    """Name a case without the addresses of objects, which differ from process to process."""
    return re.sub(r" at 0x\w+", "", str(part))


@pytest.mark.parametrize(
    ("part", "described"),
    [
        (None, None),
        (True, True),
        (0.5, 0.5),
        ("text", "text"),
        (Path("a/b.txt"), "a/b.txt"),
        *((number, number.item()) for number in (np.float64(0.1), np.int64(3), np.True_)),
        ([1, (2, Path("c"))], [1, [2, "c"]]),
        ({"key": (1, None)}, {"key": [1, None]}),
        (Mean, {"class_path": f"{ENCODERS}.mean.Mean", "init_args": {}}),
        (partial(WAN, layer=partial(Dense, dim=5), pooling=SumPooling), WAN_5),
        (
            partial(torch.optim.Adam, betas=(0.9, 0.99)),
            {"class_path": "torch.optim.adam.Adam", "init_args": {"betas": [0.9, 0.99]}},
        ),
        (
            UniformLabels(rate=None, negatives=4),
            {
                "class_path": "gile_lightning.training.samplers.uniform.UniformLabels",
                "init_args": {"rate": None, "negatives": 4},
            },
        ),
    ],
    ids=named,
)
def test_describe(part, described):
    assert describe(part) == described
    assert type(describe(part)) is type(described)


def make_encoder(kind, dim):
    return kind(dim)


class PlainNorm(nn.Module):
    pass


def local_parts():
    class Local(nn.Module):
        pass

    def function(value):
        return value

    return [Local, partial(Local), function]


@pytest.mark.parametrize(
    "part",
    [
        lambda dim: Mean(dim),
        partial(make_encoder, Mean),  # is not the class Mean
        partial(Dense, 5),
        make_encoder,
        partial(make_encoder, dim=3),
        os.system,
        json.JSONDecoder,
        PlainNorm,
        nn.ReLU(),
        *local_parts(),
    ],
    ids=named,
)
@pytest.mark.parametrize("wrap", [lambda part: part, lambda part: partial(WAN, layer=part)])
def test_what_cannot_be_rebuilt_is_refused(part, wrap):
    with pytest.raises(InputError, match=r"cannot be stored .* give a class that derives from"):
        describe(wrap(part))


def includes(whole, part):
    """Whether every value of a description is in another, which may have defaults beside it."""
    if isinstance(part, dict):
        return all(key in whole and includes(whole[key], part[key]) for key in part)
    return whole == part


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS.keys())
def test_rebuilt_model_has_the_same_parts(parts):
    model = NeuralSystem(**parts)
    plain = dict(model.hparams)
    assert json.loads(json.dumps(plain)) == plain
    file = io.BytesIO()
    torch.save(plain, file)
    file.seek(0)
    assert torch.load(file, weights_only=True) == plain
    rebuilt = instantiate(NeuralSystem, model.hparams)
    assert includes(rebuilt.hparams, model.hparams)
    # rounds write out the defaults of base classes, then of outside classes, and then nothing
    settled = instantiate(NeuralSystem, rebuilt.hparams)
    assert instantiate(NeuralSystem, settled.hparams).hparams == settled.hparams

    task = Task(Tokenizer(["a", "b", "UNK"]), LabelSet(["x", "y"], ["a", "b"], [2, 1]))
    for system in (model, rebuilt):
        system.build({"en": task})
    assert repr(rebuilt.networks) == repr(model.networks)
    assert rebuilt.configure_optimizers().defaults == model.configure_optimizers().defaults


class Changing(Configured):
    def __init__(self, first, *more, second=(), **others):
        first.append(2)
        second += (3,)


def test_arguments_are_those_of_the_call():
    assert Changing([1], third=3).arguments == {"first": [1, 2], "second": (), "third": 3}
    with pytest.raises(TypeError, match=r"takes \*more: give all arguments by name"):
        _ = Changing([1], 2).arguments
    with pytest.raises(TypeError, match="takes no arguments"):
        Configured(3)
