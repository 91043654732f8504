"""Networks of several tasks, their sizes, and what they share."""

from functools import partial

import pytest
import torch
from torch import nn

from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network import EncodedLabels, Factories, build_networks
from gile_lightning.network.encoders import (
    WAN,
    BiGRU,
    HashedWords,
    IdfMean,
    Mean,
    WordEmbedding,
)
from gile_lightning.network.outputs import GILE, Linear, MatchersOnly
from gile_testing.ragged import texts

SEEN = {"english": 8, "german": 3, "spanish": 4}  # and one unseen label each
MAKE = {
    "embedding": partial(WordEmbedding, dim=4),
    "encoder": partial(WAN, layer=partial(BiGRU, dim=6)),
    "label_encoder": Mean,
    "output": partial(GILE, joint_dim="matched"),
    "norm": nn.LayerNorm,
}


def built(sharing="none", joint_dim=None, **parts):
    tasks = {}
    for name, seen in SEEN.items():
        names = [str(i) for i in range(seen + 1)]
        tasks[name] = Task(Tokenizer([*name, "UNK"]), LabelSet(names, names, [1] * seen + [0]))
    return build_networks(Factories(**MAKE | parts), tasks, sharing, joint_dim)


def test_sizes_come_from_the_parts_and_the_data():
    networks = built()
    assert list(networks) == list(SEEN)
    for name, network in networks.items():
        assert network.embedding.weight.shape == (len(name) + 1, 4)
        assert network.document_norm.normalized_shape == (12,)  # two directions
        assert network.label_norm.normalized_shape == (4,)
        # Eq. 19, with the labels of all languages and the states of one direction: 6 * 15 / (6 + 4)
        assert network.matched_dim == 9
        assert network.output.document_projection.weight.shape == (9, 12)
        assert network.output.label_projection.weight.shape == (9, 4)


def test_the_matched_size_of_a_checkpoint():
    networks = built(joint_dim=11).values()
    assert {network.matched_dim for network in networks} == {11}
    assert {network.output.unit.in_features for network in networks} == {11}


@pytest.mark.parametrize(
    ("sharing", "shared"),
    [
        ("none", ()),
        ("encoders", ("layer",)),
        ("attention", ("pooling",)),
        ("both", ("layer", "pooling")),
    ],
)
@pytest.mark.parametrize("label_encoder", [Mean, WAN])
def test_all_share_with_the_first(sharing, shared, label_encoder):
    networks = built(sharing, label_encoder=label_encoder).values()

    def copies(path):
        return len({id(network.get_submodule(path)) for network in networks})

    for kind in ("encoder", *(["label_encoder"] if label_encoder is WAN else [])):
        for part in ("layer", "pooling"):
            assert copies(f"{kind}.{part}") == (1 if part in shared else 3)
    assert copies("output.document_projection") == copies("output.label_projection") == 1
    for own in ("output.unit", "embedding", "document_norm", "label_norm"):
        assert copies(own) == 3


def test_linear_layers_are_never_shared():
    networks = built("both", output=Linear).values()
    assert [network.output.linear.out_features for network in networks] == [8, 3, 4]
    assert len({id(network.output.linear) for network in networks}) == 3


@pytest.mark.parametrize("encoder", [Mean, HashedWords, partial(WAN, layer=partial(BiGRU, dim=6))])
@pytest.mark.parametrize("label_encoder", [Mean, HashedWords, partial(IdfMean, learned=True), WAN])
@pytest.mark.parametrize("output", [Linear, partial(GILE, joint_dim=5), MatchersOnly])
def test_all_that_is_trained_and_used_has_a_gradient(encoder, label_encoder, output):
    parts = {"encoder": encoder, "label_encoder": label_encoder, "output": output}
    network = built(**parts)["english"]
    labels = EncodedLabels(texts([[1], [0]])).select(torch.arange(2))
    network(texts([[0, 1], [2]]), labels).square().sum().backward()
    trained = {name: x for name, x in network.named_parameters() if x.requires_grad}
    unused = {id(x) for x in network.unused if x.requires_grad}
    # several processes would wait for it, where it is not told to be unused
    assert {id(x) for x in trained.values() if x.grad is None} == unused


def test_gradients_of_all_languages_reach_what_they_share():
    torch.manual_seed(2)
    networks = built("both")
    shared = networks["english"].output.document_projection.weight
    for name, network in networks.items():
        labels = EncodedLabels(texts([[1], [0]])).select(torch.arange(2))
        logits = network(texts([[0, 1], [2]]), labels)
        (gradient,) = torch.autograd.grad(logits.square().sum(), shared)
        assert gradient.any(), name
