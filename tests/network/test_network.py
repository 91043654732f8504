import pytest
import torch
from torch import nn

from gile_lightning.network import (
    NOT_SEEN,
    EncodedLabels,
    LabelledVectors,
    LabelResidual,
    Network,
    Ridge,
    prepare_labels,
)
from gile_lightning.network.encoders import WAN, Mean, WordEmbedding
from gile_lightning.network.outputs import GILE, Linear
from gile_testing.ragged import texts

LABELS = [[1, 2], [3], [], [4, 5, 5], [0]]  # the third has no word
DOCUMENTS = [[5, 1, 3], [2], [], [0, 4]]
SEEN = 3
NOTHING = nn.Identity()


class Times(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, values):
        return values * self.number


def make(output, norms=(NOTHING, NOTHING)):
    torch.manual_seed(6)
    embedding = WordEmbedding([f"w{i}" for i in range(6)], 4)
    encoder = WAN(4)
    layer = output(encoder.output_dim, 4, SEEN)
    return Network(embedding, encoder, Mean(4), layer, *norms).double()


def equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)


def test_vectors_are_normed_encodings():
    network = make(GILE, norms=(Times(2), Times(3)))
    documents, labels = texts(DOCUMENTS), texts(LABELS)
    table = network.embedding.weight
    equal(network.encode_documents(documents), 2 * network.encoder(table, documents))
    equal(network.encode_labels(labels), 3 * network.label_encoder(table, labels))
    equal(
        network(documents, EncodedLabels(labels).select(torch.arange(len(LABELS)))),
        network.output(network.encode_documents(documents), network.encode_labels(labels)),
    )


def test_what_training_does_not_change_is_computed_once():
    """Vectors of a frozen embedding are, and those of an encoder with weights are not."""
    network = make(GILE, norms=(Times(2), Times(3)))
    documents, labels = texts(DOCUMENTS), EncodedLabels(texts(LABELS)).select(torch.arange(3))
    assert network.fixed(documents, labels) == (None, None, None)  # words are trained
    network.embedding.weight.requires_grad_(False)
    encoded, features, vectors = network.fixed(documents, labels)
    assert encoded is None
    assert features is None
    equal(vectors, 3 * network.label_encoder(network.embedding.weight, labels.texts))
    network.label_dropout.p = 0.5  # which falls upon them afterwards
    torch.manual_seed(1)
    dropped = network(documents, labels)
    torch.manual_seed(1)
    assert torch.equal(network(documents, labels, fixed=network.fixed(documents, labels)), dropped)
    network.encoder, network.ridge = Mean(4), Ridge(4, 3)
    encoded, features, _ = network.fixed(documents, labels)
    equal(encoded, 2 * Mean(4)(network.embedding.weight, documents))
    equal(features, encoded)  # the regression reads nothing else here
    network.output = Linear(4, 4, SEEN).double()
    assert network.fixed(documents, labels).labels is None  # no label text is read
    for part in (nn.Dropout(0.1), nn.BatchNorm1d(4, affine=False)):  # without a weight
        network.document_norm = part
        assert network.trains_documents
        assert network.fixed(documents, labels).documents is None


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("output", [GILE, Linear])
def test_looking_up_every_word_once_changes_nothing(output, sparse):
    """The table of a batch's words gives the logits and gradients of the whole embedding."""
    network = make(output)
    documents, labels = texts(DOCUMENTS), EncodedLabels(texts(LABELS)).select(torch.tensor([2, 0]))
    vectors = network.encode_labels(labels.texts) if output is GILE else labels.ids
    network.output(network.encode_documents(documents), vectors).pow(2).sum().backward()
    expected = {name: p.grad for name, p in network.named_parameters()}
    network.zero_grad()
    network.embedding.sparse = sparse
    network(documents, labels).pow(2).sum().backward()
    found = {name: p.grad for name, p in network.named_parameters()}
    assert found["embedding.weight"].is_sparse == sparse
    if sparse:
        rows = found["embedding.weight"]._indices()[0].tolist()
        assert rows == sorted(set(rows))  # distinct, so that no optimizer has to sort them
        found["embedding.weight"] = found["embedding.weight"].to_dense()
    for name, gradient in expected.items():
        if gradient is not None:
            torch.testing.assert_close(found[name], gradient, rtol=1e-10, atol=1e-12)


def test_a_linear_layer_gets_ids():
    network = make(Linear)
    linear = network.output.linear
    expected = network.encode_documents(texts(DOCUMENTS)) @ linear.weight.T + linear.bias
    ids, labels = torch.tensor([2, 0]), EncodedLabels(texts(LABELS))
    equal(network(texts(DOCUMENTS), labels.select(ids)), expected[:, ids])
    equal(prepare_labels(network, labels, SEEN).score(texts(DOCUMENTS)), expected)  # seen ones only


def test_training_documents_are_scored_as_if_they_were_new():
    """Against regressions on all documents but one, and residuals whose vectors are zero."""
    network = make(GILE).eval()
    dim = network.encoder.output_dim
    network.ridge = Ridge(dim, SEEN).double()
    network.label_residual = LabelResidual(dim, [3, 2, 1], matchers=1).double()
    torch.nn.init.normal_(network.label_residual.vectors)
    torch.nn.init.normal_(network.label_residual.matcher_weights)
    documents = texts([document for document in DOCUMENTS if document])
    ids, counts = torch.tensor([0, 2, 0, 1]), torch.tensor([2, 1, 1])
    targets = torch.tensor([[1.0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]).double()
    labels = EncodedLabels(texts(LABELS), torch.tensor([0, 1, 2, NOT_SEEN, NOT_SEEN]))
    vectors = network.encode_documents(documents).detach()

    def score(some, *more):
        """The regression is fitted to some of the documents."""
        of = torch.split(ids, counts.tolist())
        chosen = torch.cat([of[i] for i in some])
        network.ridge.inverse.zero_()
        network.ridge.fit([LabelledVectors(vectors[some], chosen, counts[some])])
        with torch.no_grad():
            return prepare_labels(network, labels, SEEN).score(documents, *more)

    found, known = score([0, 1, 2], targets), score([0, 1, 2])
    torch.nn.init.zeros_(network.label_residual.vectors)
    for i, others in enumerate([[1, 2], [0, 2], [0, 1]]):
        torch.testing.assert_close(found[i], score(others)[i], rtol=1e-8, atol=1e-10)
    assert (found - known).abs().amin(1).lt(1e-12).all()  # unseen labels
    assert (found - known)[:, :SEEN].abs().gt(1e-3).all()
