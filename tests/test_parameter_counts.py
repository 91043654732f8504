"""The sizes that the paper prints, from models that are built but never allocated."""

from functools import partial

import pytest
import torch
from torch import nn

from gile_lightning.classifier import TextClassifier
from gile_lightning.data.labels import LabelSet
from gile_lightning.data.language import Language
from gile_lightning.data.text import TextEncoder
from gile_lightning.outputs import GILE, Linear

WORDS = 528_156
LABELS = 27_455  # those of MeSH 2015


@pytest.fixture(scope="module")
def bioasq():
    """Vocabulary and label set of the paper's size; every label is seen in training."""
    vocabulary = [*map(str, range(WORDS - 1)), "UNK"]
    names = [f"label {i}" for i in range(LABELS)]
    return Language(TextEncoder(vocabulary), LabelSet(names, names, [1] * LABELS))


def build(language, **parts):
    with torch.device("meta"):
        model = TextClassifier(**parts)
        model.build({"en": language})
    assert {p.device.type for p in model.parameters()} == {"meta"}
    return model


def count(model):
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    ("output", "parameters"),
    [
        (GILE, 52_937_402),  # 52.93M
        (partial(GILE, joint_dim=100), 52_856_202),  # 52.85M
        (Linear, 55_608_856),  # 55.60M
    ],
    ids=["GILE-WAN", "constrained joint_dim", "WAN"],
)
def test_sizes_of_table_2(bioasq, output, parameters):
    model = build(bioasq, output=output)
    assert count(model) == parameters
    assert model.scorer("en").embedding.weight.numel() == WORDS * 100


def test_default_norm_adds_no_parameter():
    language = Language(TextEncoder(["word", "UNK"]), LabelSet(["a"], ["word"], [1]))
    with_norm, without = build(language), build(language, norm=nn.Identity)
    assert isinstance(with_norm.scorer("en").document_norm, nn.LayerNorm)
    assert isinstance(with_norm.scorer("en").label_norm, nn.LayerNorm)
    assert count(with_norm) == count(without)
