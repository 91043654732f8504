from functools import partial

import pytest
import torch
from torch import nn

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network import prepared_labels as projected_module
from gile_lightning.network.encoded_labels import EncodedLabels
from gile_lightning.network.encoders import WAN, BiGRU, Mean, WordEmbedding
from gile_lightning.network.network import Factories, Network, build_networks
from gile_lightning.network.outputs import GILE, Linear
from gile_lightning.network.prepared_labels import prepare_labels

LABELS = [[1, 2], [3], [], [4, 5, 5], [0]]  # the third has no word
DOCUMENTS = [[5, 1, 3], [2], [], [0, 4]]
SEEN = 3


def texts(rows):
    return Texts(
        torch.tensor([word for row in rows for word in row], dtype=torch.int32),
        torch.tensor([len(row) for row in rows]),
        torch.ones(len(rows)).long(),
    )


def labels_of(rows, **options):
    """All of a label set, given the words of their texts."""
    chosen = EncodedLabels(texts(rows), **options)
    return chosen.select(torch.arange(len(chosen)))


def make(output, norm=nn.Identity):
    torch.manual_seed(6)
    embedding = WordEmbedding([f"w{i}" for i in range(6)], 4)
    encoder = WAN(4)
    norms = [norm(), norm()]
    return Network(
        embedding, encoder, Mean(4), output(encoder.output_dim, 4, SEEN), *norms
    ).double()


class Times(nn.Module):
    """Multiplies by its number."""

    count = 1

    def __init__(self):
        super().__init__()
        Times.count += 1
        self.number = Times.count

    def forward(self, values):
        return values * self.number


def equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)


def test_vectors_are_normed_encodings(monkeypatch):
    monkeypatch.setattr(Times, "count", 1)
    network = make(GILE, norm=Times)  # documents times 2, labels times 3
    documents, labels = texts(DOCUMENTS), texts(LABELS)
    embed = network.embedding
    equal(network.encode_documents(documents), 2 * network.encoder(embed.weight, documents))
    equal(network.encode_labels(labels), 3 * network.label_encoder(embed.weight, labels))
    equal(
        network(documents, labels_of(LABELS)),
        network.output(network.encode_documents(documents), network.encode_labels(labels)),
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("output", [GILE, Linear])
def test_training_takes_every_word_once_and_changes_nothing(output, sparse):
    """The compact table of a batch's words gives the loss and gradients of the whole embedding."""
    network = make(output)
    documents, given = texts(DOCUMENTS), EncodedLabels(texts(LABELS)).select(torch.tensor([2, 0]))
    vectors = network.encode_labels(given.texts) if output is GILE else given.ids
    network.output(network.encode_documents(documents), vectors).pow(2).sum().backward()
    expected = {name: p.grad for name, p in network.named_parameters()}
    network.zero_grad()
    network.embedding.sparse = sparse
    network(documents, given).pow(2).sum().backward()
    found = {name: p.grad for name, p in network.named_parameters()}
    assert found["embedding.weight"].is_sparse == sparse
    if sparse:
        rows = found["embedding.weight"]._indices()[0].tolist()
        assert rows == sorted(set(rows))  # distinct, so that no optimizer has to sort them
        found["embedding.weight"] = found["embedding.weight"].to_dense()
    for name, gradient in expected.items():
        if gradient is not None:
            torch.testing.assert_close(found[name], gradient, rtol=1e-10, atol=1e-12)


def test_labels_too_many_to_keep_their_projections(monkeypatch):
    network = make(GILE)
    labels, documents = EncodedLabels(texts(LABELS)), texts(DOCUMENTS)
    kept = prepare_labels(network, labels, SEEN)
    assert kept.projected.projected
    monkeypatch.setattr(projected_module, "KEPT", 500 * len(LABELS) - 1)
    monkeypatch.setattr(projected_module, "SLAB", 2)
    vectors = prepare_labels(network, labels, SEEN)
    assert not vectors.projected.projected
    assert len(vectors) == len(kept) == len(LABELS)
    equal(vectors.all(), kept.all())
    equal(vectors.score(documents), kept.score(documents))
    assert [len(slab) for slab in vectors.projected.slabs()] == [2, 2, 1]


def test_projected_labels_give_the_scores_of_their_texts():
    network = make(GILE)
    labels = EncodedLabels(texts(LABELS))
    projected = prepare_labels(network, labels, SEEN)
    assert projected.all().shape == (len(LABELS), 500)  # the unseen ones, too
    assert not projected.all().requires_grad
    logits = projected.score(texts(DOCUMENTS))
    equal(logits, network(texts(DOCUMENTS), labels_of(LABELS)))
    ids = torch.tensor([4, 0, 1])
    equal(network(texts(DOCUMENTS), labels.select(ids)), logits[:, ids])


@pytest.mark.parametrize("slab", [1, 2, 5, 6])
def test_projecting_in_slabs(monkeypatch, slab):
    network = make(GILE)
    labels = EncodedLabels(texts(LABELS))
    whole = prepare_labels(network, labels, SEEN).all()
    sizes = []
    encode = Mean.forward
    monkeypatch.setattr(projected_module, "SLAB", slab)
    monkeypatch.setattr(
        Mean, "forward", lambda self, *args: sizes.append(len(args[1][2])) or encode(self, *args)
    )
    equal(prepare_labels(network, labels, SEEN).all(), whole)
    assert sum(sizes) == len(LABELS)
    assert max(sizes) == min(slab, len(LABELS))


def test_linear_gets_ids():
    network = make(Linear)
    vectors = network.encode_documents(texts(DOCUMENTS))
    linear = network.output.linear
    everything = vectors @ linear.weight.T + linear.bias
    ids, labels = torch.tensor([2, 0]), EncodedLabels(texts(LABELS))
    equal(network(texts(DOCUMENTS), labels.select(ids)), everything[:, ids])
    projected = prepare_labels(network, labels, SEEN)
    equal(projected.score(texts(DOCUMENTS)), everything)  # the seen ones only


def test_take_label_texts():
    labels = EncodedLabels(texts(LABELS), frequencies=[7, 2])
    assert len(labels) == len(LABELS)
    assert labels.frequencies.tolist() == [7, 2]
    taken = labels.gather(torch.tensor([3, 2, 0, 3]))
    assert taken.words.tolist() == [4, 5, 5, 1, 2, 4, 5, 5]
    assert taken.sentence_lengths.tolist() == [3, 0, 2, 3]
    assert taken.document_lengths.tolist() == [1, 1, 1, 1]


def test_label_texts_move_with_the_model_but_are_not_saved():
    holder = nn.ModuleDict({"en": EncodedLabels(texts(LABELS))})
    assert holder.state_dict() == {}
    holder.double()
    assert not any(buffer.is_floating_point() for buffer in holder.buffers())
    assert {buffer.device.type for buffer in holder.to("meta").buffers()} == {"meta"}


def test_projecting_no_labels():
    """As those of weights that were imported without labels."""
    network = make(GILE)
    none = torch.zeros(0, dtype=torch.long)
    nothing = EncodedLabels(Texts(none.int(), none, none))
    assert len(nothing) == 0
    projected = prepare_labels(network, nothing, 0).all()
    assert projected.shape == (0, 500)
    vectors = network.encode_documents(texts(DOCUMENTS))
    assert network.output.score(vectors, projected).shape == (len(DOCUMENTS), 0)


# --- several languages ---

SEEN_LABELS = {"english": 8, "german": 3, "spanish": 4}  # and one unseen label each
MAKE = {
    "embedding": partial(WordEmbedding, dim=4),
    "encoder": partial(WAN, layer=partial(BiGRU, dim=6)),
    "label_encoder": Mean,
    "output": partial(GILE, joint_dim="matched"),
    "norm": nn.LayerNorm,
}


def languages():
    found = {}
    for name, seen in SEEN_LABELS.items():
        names = [str(i) for i in range(seen + 1)]
        labels = LabelSet(names, names, [1] * seen + [0])
        found[name] = Task(Tokenizer([*name, "UNK"]), labels)
    return found


def test_sizes_come_from_the_parts_and_the_data():
    networks = build_networks(Factories(**MAKE), languages(), "none")
    assert list(networks) == list(SEEN_LABELS)
    for name, network in networks.items():
        assert network.embedding.weight.shape == (len(name) + 1, 4)
        assert network.document_norm.normalized_shape == (12,)  # two directions
        assert network.label_norm.normalized_shape == (4,)
        # Eq. 19, with the labels of all languages and the states of one direction: 6 * 15 / (6 + 4)
        assert network.matched_dim == 9
        assert network.output.document_projection.weight.shape == (9, 12)
        assert network.output.label_projection.weight.shape == (9, 4)
    networks = build_networks(Factories(**MAKE | {"output": Linear}), languages(), "none")
    assert [network.output.linear.out_features for network in networks.values()] == [8, 3, 4]


def test_matched_size_that_is_known():
    networks = build_networks(Factories(**MAKE), languages(), "none", joint_dim=11)
    assert {network.matched_dim for network in networks.values()} == {11}
    assert {network.output.unit.in_features for network in networks.values()} == {11}


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
    networks = build_networks(
        Factories(**MAKE | {"label_encoder": label_encoder}), languages(), sharing
    ).values()

    def copies(path):
        return len({id(network.get_submodule(path)) for network in networks})

    for kind in ("encoder", *(["label_encoder"] if label_encoder is WAN else [])):
        for part in ("layer", "pooling"):
            assert copies(f"{kind}.{part}") == (1 if part in shared else 3)
    assert copies("output.document_projection") == copies("output.label_projection") == 1
    for own in ("output.unit", "embedding", "document_norm", "label_norm"):
        assert copies(own) == 3


def test_linear_layers_are_never_shared():
    networks = build_networks(Factories(**MAKE | {"output": Linear}), languages(), "both").values()
    assert len({id(network.output.linear) for network in networks}) == 3


def test_gradients_of_all_languages_reach_what_they_share():
    torch.manual_seed(2)
    networks = build_networks(Factories(**MAKE), languages(), "both")
    shared = networks["english"].output.document_projection.weight
    for name, network in networks.items():
        logits = network(texts([[0, 1], [2]]), labels_of([[1], [0]]))
        (gradient,) = torch.autograd.grad(logits.square().sum(), shared)
        assert gradient.any(), name
