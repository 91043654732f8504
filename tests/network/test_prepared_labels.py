import pytest
import torch
from torch import nn

from gile_lightning.network import EncodedLabels, Network, prepare_labels, prepared_labels
from gile_lightning.network.encoders import WAN, Mean, WordEmbedding
from gile_lightning.network.outputs import GILE
from gile_testing.ragged import texts

ROWS = [[1, 2], [3], [], [4, 5, 5], [0]]  # the third has no word
LABELS = EncodedLabels(texts(ROWS))
DOCUMENTS = texts([[5, 1, 3], [2], [], [0, 4]])
SEEN = 3


@pytest.fixture
def network():
    torch.manual_seed(6)
    embedding = WordEmbedding([f"w{i}" for i in range(6)], 4)
    norms = nn.Identity(), nn.Identity()
    return Network(embedding, WAN(4), Mean(4), GILE(100, 4, SEEN), *norms).double()


def equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)


def test_scores_are_those_of_the_network(network):
    prepared = prepare_labels(network, LABELS, SEEN)
    assert prepared.all().shape == (len(ROWS), 500)  # the unseen ones, too
    assert not prepared.all().requires_grad
    logits = prepared.score(DOCUMENTS)
    equal(logits, network(DOCUMENTS, LABELS.select(torch.arange(len(ROWS)))))
    ids = torch.tensor([4, 0, 1])
    equal(network(DOCUMENTS, LABELS.select(ids)), logits[:, ids])


def test_too_many_labels_to_keep_their_projections(network, monkeypatch):
    kept = prepare_labels(network, LABELS, SEEN)
    assert kept.keeps_projections
    monkeypatch.setattr(prepared_labels, "KEPT", 500 * len(ROWS) - 1)
    monkeypatch.setattr(prepared_labels, "SLAB", 2)
    vectors = prepare_labels(network, LABELS, SEEN)
    assert not vectors.keeps_projections
    assert len(vectors) == len(kept) == len(ROWS)
    equal(vectors.all(), kept.all())
    equal(vectors.score(DOCUMENTS), kept.score(DOCUMENTS))


@pytest.mark.parametrize("slab", [1, 2, 5, 6])
def test_labels_are_encoded_in_slabs(network, monkeypatch, slab):
    whole = prepare_labels(network, LABELS, SEEN).all()
    sizes = []
    encode = Mean.forward
    monkeypatch.setattr(prepared_labels, "SLAB", slab)
    monkeypatch.setattr(
        Mean, "forward", lambda self, *args: sizes.append(len(args[1][2])) or encode(self, *args)
    )
    equal(prepare_labels(network, LABELS, SEEN).all(), whole)
    assert sum(sizes) == len(ROWS)
    assert max(sizes) == min(slab, len(ROWS))


def test_no_labels(network):
    """Such as those of weights that were imported without labels."""
    prepared = prepare_labels(network, EncodedLabels(texts([])), 0)
    assert prepared.all().shape == (0, 500)
    assert prepared.score(DOCUMENTS).shape == (4, 0)
