"""Hierarchical networks beside NumPy, one document and one sentence at a time."""

from functools import partial

import numpy as np
import pytest
import torch

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders import GRU, HAN, HNN, WAN, BiGRU, Dense, Mean

INPUT_DIM, DIM = 4, 5
DOCUMENTS = [[3, 1, 2], [4], [], [0, 2, 0, 6], [0], [1, 1]]  # words per sentence


def dense(states, layer):
    weight, bias = (p.detach().numpy() for p in (layer.linear.weight, layer.linear.bias))
    return np.maximum(states @ weight.T + bias, 0)


def attention(states, pooling):
    """Eq. 2: v_t = f(h_t), a_t = exp(v_t u) / sum_j exp(v_j u), the sum of a_t h_t."""
    hidden, score = (
        (module.weight.detach().numpy(), module.bias.detach().numpy())
        for module in (pooling.hidden, pooling.score)
    )
    v = np.maximum(states @ hidden[0].T + hidden[1], 0)
    exponentials = np.exp(v @ score[0][0] + score[1])
    return (exponentials / exponentials.sum()) @ states


def average(states, pooling):
    return states.mean(axis=0)


def numpy_vector(encoder, pool, sentences):
    """One document, given as a list of arrays of word vectors."""
    vectors = [
        pool(dense(sentence, encoder.word_layer), encoder.word_pooling)
        for sentence in sentences
        if len(sentence)
    ]
    if not vectors:
        return np.zeros(DIM)
    return pool(dense(np.stack(vectors), encoder.sentence_layer), encoder.sentence_pooling)


@pytest.mark.parametrize(("kind", "pool"), [(HAN, attention), (HNN, average)])
def test_equals_numpy_document_by_document(kind, pool):
    torch.manual_seed(1)
    encoder = kind(INPUT_DIM, layer=partial(Dense, dim=DIM)).double()
    sizes = [size for document in DOCUMENTS for size in document]
    words = torch.randn(sum(sizes), INPUT_DIM, dtype=torch.double)
    sentences = iter(np.split(words.numpy(), np.cumsum(sizes)[:-1]))
    expected = [
        numpy_vector(encoder, pool, [next(sentences) for _ in document]) for document in DOCUMENTS
    ]
    counts = torch.tensor([len(document) for document in DOCUMENTS])
    actual = encoder(words, Texts(torch.arange(len(words)), torch.tensor(sizes), counts))
    torch.testing.assert_close(actual, torch.from_numpy(np.stack(expected)), rtol=1e-12, atol=1e-14)


def test_attention_is_of_words_in_sentences_and_of_sentences_in_documents():
    """Its sums of the states are the document's vector; a sentence without a word has 0."""
    torch.manual_seed(1)
    encoder = HAN(INPUT_DIM, layer=partial(Dense, dim=DIM)).double()
    sizes = torch.tensor([3, 0, 1, 2])
    words = torch.randn(6, INPUT_DIM, dtype=torch.double)
    texts = Texts(torch.arange(6), sizes, torch.tensor([3, 1]))
    of_words, of_sentences = encoder.attention(words, texts)
    assert of_sentences[1] == 0
    weighted = encoder.word_layer(words, sizes) * of_words.unsqueeze(1)
    sums = torch.stack([part.sum(0) for part in weighted.split(sizes.tolist())])
    states = encoder.sentence_layer(sums, sizes) * of_sentences.unsqueeze(1)
    vectors = torch.stack([part.sum(0) for part in states.split([3, 1])])
    torch.testing.assert_close(vectors, encoder(words, texts), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "hidden", "output"),
    [
        (HAN, 100, 100),
        (partial(HAN, layer=partial(BiGRU, dim=7)), 7, 14),
        (partial(HNN, layer=partial(GRU, dim=7)), 7, 7),
        (partial(WAN, layer=BiGRU), 100, 200),
        (Mean, 40, 40),
    ],
)
def test_hidden_dim_is_that_of_one_direction(make, hidden, output):
    encoder = make(40)
    assert (encoder.hidden_dim, encoder.output_dim) == (hidden, output)
