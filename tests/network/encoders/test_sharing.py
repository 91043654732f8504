"""Encoders of several languages that hold the same modules."""

from functools import partial

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.network.encoders import (
    GRU,
    HAN,
    HNN,
    WAN,
    Concatenation,
    Dense,
    Mean,
    SumPooling,
)

LAYERS, POOLINGS = ("word_layer", "sentence_layer"), ("word_pooling", "sentence_pooling")
SHARED = {"none": (), "encoders": LAYERS, "attention": POOLINGS, "both": LAYERS + POOLINGS}


def pair(make, parts):
    first, second = make(40), make(40)
    second.share_with(first, parts)
    return torch.nn.ModuleList([first, second])


@pytest.mark.parametrize(
    ("parts", "parameters"),
    # 14,200 in the layers, 20,402 in the attention
    [("none", 69_204), ("encoders", 55_004), ("attention", 48_802), ("both", 34_602)],
)
def test_same_objects(parts, parameters):
    both = pair(HAN, parts)
    for name in SHARED["both"]:
        same = getattr(both[0], name) is getattr(both[1], name)
        assert same is (name in SHARED[parts])
    assert sum(p.numel() for p in both.parameters()) == parameters


@pytest.mark.parametrize(
    ("make", "parts", "message"),
    [
        (HNN, "attention", "HNN has no attention to share; HAN and WAN with AttentionPooling"),
        (Mean, "both", "Mean has nothing to share; HAN, HNN and WAN have"),
        (Mean, "encoders", "Mean has no encoders to share; HAN, HNN and WAN have"),
    ],
)
def test_nothing_to_share(make, parts, message):
    with pytest.raises(InputError, match=message):
        pair(make, parts)


@pytest.mark.parametrize(
    ("first", "second", "parts", "message"),
    [
        (
            partial(HAN, 50),
            partial(HAN, 40),
            "encoders",
            r"encoders cannot be shared: word_layer\.linear\.weight is \[100, 40\] in one language "
            r"and \[100, 50\] in another; .* word vectors of one size",
        ),
        (partial(HAN, 40), partial(WAN, 40), "attention", "the encoder is WAN .* HAN in another"),
        (partial(HAN, 40, GRU), partial(HAN, 40), "both", "word_layer is Dense .* GRU in another"),
        (
            partial(WAN, 40, pooling=SumPooling),
            partial(WAN, 40),
            "both",
            "pooling is AttentionPooling .* SumPooling in another",
        ),
    ],
    ids=["word vectors", "encoder", "layer", "pooling"],
)
def test_modules_that_do_not_fit(first, second, parts, message):
    held, encoder = first(), second()
    before = dict(encoder.named_modules())
    with pytest.raises(InputError, match=message):
        encoder.share_with(held, parts)
    assert dict(encoder.named_modules()) == before  # nothing is shared by half


def test_concatenations_share_what_their_parts_share():
    make = partial(Concatenation, encoders=[Mean, partial(WAN, layer=partial(Dense, dim=3))])
    first, second = make(4), make(4)
    first.share_with(second, "encoders")
    assert first.encoders[1].layer is second.encoders[1].layer
    first.share_with(second, "none")
    for other in (Mean(4), Concatenation(4, [Mean])):
        with pytest.raises(InputError, match="a Concatenation of the same"):
            first.share_with(other, "encoders")
    with pytest.raises(InputError, match="no encoders to share"):
        Concatenation(4, [Mean]).share_with(Concatenation(4, [Mean]), "encoders")
    with pytest.raises(InputError, match="needs at least one encoder"):
        Concatenation(4, [])
