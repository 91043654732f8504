from functools import partial

import pytest
import torch
from torch import nn

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders import Encoder
from gile_lightning.released import ReleasedBiGRU, ReleasedDense, ReleasedGRU, ReleasedHAN

D, DIM = 3, 4
LAYERS = {"dense": ReleasedDense, "gru": ReleasedGRU, "bigru": ReleasedBiGRU}

every_layer = pytest.mark.parametrize("layer", LAYERS)

# words per sentence, per document: usual ones, none at all, too long ones
DOCUMENTS = [[3, 1], [], [0, 2, 0], [30, 31, 45], [2] * 29, [1] * 33, [0]]


def make(layer):
    torch.manual_seed(3)
    encoder = ReleasedHAN(D, partial(LAYERS[layer], dim=DIM)).double()
    for name in encoder.poolings:
        nn.init.constant_(getattr(encoder, name).score.bias, 2.0)  # else it may be 0 everywhere
    return encoder


@pytest.fixture
def ragged():
    torch.manual_seed(4)
    lengths = [length for document in DOCUMENTS for length in document]
    words = torch.randn(sum(lengths), D, dtype=torch.double)
    counts = torch.tensor([len(document) for document in DOCUMENTS])
    return words, Texts(torch.arange(len(words)), torch.tensor(lengths), counts)


@pytest.fixture
def padded(ragged):
    """The same laid out word by word."""
    values = iter(ragged[0])
    x = torch.zeros(len(DOCUMENTS), 30, 30, D, dtype=torch.double)
    for i, document in enumerate(DOCUMENTS):
        for j, length in enumerate(document):
            for t in range(length):
                word = next(values)
                if j < 30 and t < 30:
                    x[i, j, t] = word
    return x.view(len(DOCUMENTS), 900, D)


@every_layer
def test_ragged_equals_padded(ragged, padded, layer):
    encoder = make(layer)
    assert isinstance(encoder, Encoder)
    output_dim = 2 * DIM if layer == "bigru" else DIM
    assert (encoder.output_dim, encoder.hidden_dim) == (output_dim, DIM)
    vectors, word_attention, sentence_attention = encoder.attend(padded)
    torch.testing.assert_close(encoder(*ragged), vectors, rtol=0, atol=1e-13)
    assert vectors.shape == (len(DOCUMENTS), output_dim)
    for attention in (word_attention, sentence_attention):
        ones = torch.ones(attention.shape[:-1], dtype=torch.double)
        torch.testing.assert_close(attention.sum(-1), ones, rtol=0, atol=1e-13)
    # an empty text is 900 words of padding
    nothing = encoder.attend(torch.zeros(1, 900, D, dtype=torch.double)).document_vectors
    torch.testing.assert_close(vectors[1:2], nothing, rtol=0, atol=1e-13)
    torch.testing.assert_close(vectors[-1:], nothing, rtol=0, atol=1e-13)


@every_layer
def test_no_documents(layer):
    encoder = make(layer)
    none = torch.zeros(0, dtype=torch.long)
    empty = torch.zeros(0, D, dtype=torch.double)
    assert encoder(empty, Texts(none, none, none)).shape == (0, encoder.output_dim)


def test_words_beyond_the_limits_get_no_gradient(ragged):
    words, texts = ragged
    words.requires_grad_()
    encoder = make("dense")
    nn.init.constant_(encoder.word_layer.linear.bias, 5.0)  # no word without an active unit
    encoder(words, texts).sum().backward()
    used = []
    for document in DOCUMENTS:
        for j, length in enumerate(document):
            used += [j < 30 and t < 30 for t in range(length)]
    assert words.grad.any(dim=1).tolist() == used


@every_layer
def test_every_parameter_gets_a_gradient(ragged, layer):
    torch.manual_seed(8)
    encoder = ReleasedHAN(D, partial(LAYERS[layer], dim=20)).double()
    for parameter in encoder.parameters():
        nn.init.normal_(parameter, std=0.3)
    biases = [getattr(encoder, name).score.bias for name in encoder.poolings]
    for bias in biases:  # no score is below 0, so that these biases alone cancel in the softmax
        nn.init.constant_(bias, 20.0)
    encoder(*ragged).square().sum().backward()
    for name, parameter in encoder.named_parameters():
        largest = parameter.grad.abs().max()
        assert largest < 1e-9 if name.endswith("score.bias") else largest > 1e-6, name
