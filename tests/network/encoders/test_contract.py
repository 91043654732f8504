"""What every encoder promises. A new encoder is one more entry of ENCODERS."""

from functools import partial

import pytest
import torch

from gile_lightning.network.encoders import (
    GRU,
    HAN,
    HNN,
    WAN,
    AttentionPooling,
    BiGRU,
    Concatenation,
    Dense,
    IdfMean,
    Mean,
    SumPooling,
    WordEmbedding,
)
from gile_testing.ragged import by_sentence as texts

INPUT_DIM = 4


def idf_mean(dim, **options):
    encoder = IdfMean(dim, **options)
    encoder.idf.build(8)  # words
    return encoder


DENSE, RECURRENT, BIDIRECTIONAL = (partial(kind, dim=5) for kind in (Dense, GRU, BiGRU))
ENCODERS = {
    "WAN, attention": (partial(WAN, layer=DENSE, pooling=AttentionPooling), 5),
    "WAN, sum": (partial(WAN, layer=DENSE, pooling=SumPooling), 5),
    "WAN, GRU": (partial(WAN, layer=RECURRENT), 5),
    "Mean": (Mean, INPUT_DIM),
    "Concatenation": (partial(Concatenation, encoders=[Mean, partial(WAN, layer=DENSE)]), 9),
    "IdfMean": (idf_mean, INPUT_DIM),
    "IdfMean, learned": (partial(idf_mean, learned=True), INPUT_DIM),
    "HAN, Dense": (partial(HAN, layer=DENSE), 5),
    "HAN, GRU": (partial(HAN, layer=RECURRENT), 5),
    "HAN, biGRU": (partial(HAN, layer=BIDIRECTIONAL), 10),
    "HNN, Dense": (partial(HNN, layer=DENSE), 5),
    "HNN, GRU": (partial(HNN, layer=RECURRENT), 5),
}
ORDERED = {name for name in ENCODERS if "GRU" in name}  # the order of words and sentences matters
HIERARCHICAL = {name for name in ENCODERS if name.startswith(("HAN", "HNN"))}
NO_GRADIENT = "score.bias"  # cancels in the softmax, as AttentionPooling says

# word ids by sentence by document; one sentence is empty
DOCUMENTS = [[[1, 2, 3]], [[4, 0], [5, 5, 6, 1]], [[7]], [[2], [], [3, 3]]]
EMPTY = {"no sentence": [], "a sentence without a word": [[]]}

every_encoder = pytest.mark.parametrize("name", ENCODERS)


def by_place(words, documents):
    """Give every word of the texts a vector of its own [N, d], wherever it stands."""
    return words, documents._replace(words=torch.arange(len(words)), ids=documents.words)


def make(name):
    torch.manual_seed(3)
    embedding = WordEmbedding([f"w{i}" for i in range(8)], INPUT_DIM).double()
    with torch.no_grad():
        embedding.weight.mul_(30)  # so that the units differ in which of them are active
    return ENCODERS[name][0](INPUT_DIM).double(), embedding


@pytest.fixture
def encode(name):
    encoder, embedding = make(name)
    return lambda documents: encoder(embedding.weight, texts(documents))


def equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)


@every_encoder
def test_one_vector_per_document(name, encode):
    assert make(name)[0].output_dim == ENCODERS[name][1]
    assert encode(DOCUMENTS).shape == (len(DOCUMENTS), ENCODERS[name][1])
    assert len(encode(DOCUMENTS).unique(dim=0)) == len(DOCUMENTS)


@every_encoder
def test_documents_do_not_touch_each_other(encode):
    alone = torch.cat([encode([document]) for document in DOCUMENTS])
    equal(encode(DOCUMENTS), alone)


def differ(actual, expected):
    assert (actual - expected).abs().amax(dim=1).min() > 1e-3  # every document


@every_encoder
def test_order_of_words_and_sentences(name, encode):
    check = differ if name in ORDERED else equal
    check(encode([[[3, 1, 2, 2]], [[5, 6]]]), encode([[[2, 3, 2, 1]], [[6, 5]]]))
    check(encode([[[3, 1], [4], [0, 0, 2]]]), encode([[[0, 0, 2], [3, 1], [4]]]))


@every_encoder
def test_sentences_matter_to_hierarchical_encoders_alone(name, encode):
    joined = [[[word for sentence in document for word in sentence]] for document in DOCUMENTS]
    several = [i for i, document in enumerate(DOCUMENTS) if len(document) > 1]
    check = differ if name in HIERARCHICAL else equal
    check(encode(joined)[several], encode(DOCUMENTS)[several])


@every_encoder
def test_sentences_without_a_word_change_nothing(encode):
    holes = [[[], *(part for sentence in d for part in (sentence, []))] for d in DOCUMENTS]
    equal(encode(holes), encode(DOCUMENTS))


@every_encoder
@pytest.mark.parametrize("position", [0, 2, len(DOCUMENTS)], ids=["start", "middle", "end"])
@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY.keys())
def test_empty_document_is_zeros(encode, empty, position):
    documents = [*DOCUMENTS[:position], empty, *DOCUMENTS[position:]]
    vectors = encode(documents)
    assert vectors[position].eq(0).all()
    others = [i for i in range(len(documents)) if i != position]
    equal(vectors[others], encode(DOCUMENTS))


@every_encoder
@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY.keys())
def test_batch_without_a_word(name, empty):
    encoder, embedding = make(name)
    vectors = encoder(embedding.weight, texts([empty, empty]))
    assert torch.equal(vectors, torch.zeros(2, encoder.output_dim, dtype=torch.double))
    vectors.sum().backward()
    gradients = [p.grad for p in [*encoder.parameters(), *embedding.parameters()]]
    assert all(gradient.eq(0).all() for gradient in gradients if gradient is not None)


@every_encoder
def test_every_trainable_parameter_gets_a_gradient(name):
    encoder, embedding = make(name)
    encoder(embedding.weight, texts(DOCUMENTS)).square().sum().backward()
    assert embedding.weight.grad.any(dim=1).all()  # DOCUMENTS has all eight words
    for parameter_name, parameter in encoder.named_parameters():
        if parameter.requires_grad:
            largest = parameter.grad.abs().max()
            assert largest < 1e-12 if parameter_name.endswith(NO_GRADIENT) else largest > 1e-6


@every_encoder
def test_gradients_are_those_of_finite_differences(name):
    encoder, embedding = make(name)
    batch = texts([[], *DOCUMENTS])
    words = embedding(batch.words).detach().requires_grad_()
    trainable = [p for p in encoder.parameters() if p.requires_grad]

    def run(words, *_):  # the parameters are listed to be perturbed
        return encoder(*by_place(words, batch))

    # the recurrent layers have many parameters; test_layers.py looks at each
    assert torch.autograd.gradcheck(run, (words, *trainable), fast_mode=name in ORDERED)


@every_encoder
def test_ids_and_vectors_give_the_same(name):
    """States of distinct words are made once; values and gradients are those of every place."""
    encoder, embedding = make(name)
    documents = texts([[], [[1, 2, 1], [3, 1]], [[2, 2, 2, 7]], [[5], [1, 5]], [[]]])
    results = []
    for by_id in (True, False):
        encoder.zero_grad()
        embedding.zero_grad()
        if by_id:
            vectors = encoder(embedding.weight, documents)
        else:
            vectors = encoder(*by_place(embedding(documents.words), documents))
        vectors.pow(2).sum().backward()
        parameters = [p for n, p in encoder.named_parameters() if NO_GRADIENT not in n]
        results.append([vectors, embedding.weight.grad, *(p.grad for p in parameters)])
    for by_id, by_vector in zip(*results, strict=True):
        if by_vector is not None:
            torch.testing.assert_close(by_id, by_vector, rtol=1e-10, atol=1e-12)


@every_encoder
@pytest.mark.parametrize("words", [3, 300, 1_000])
def test_mixed_precision(name, words):
    """bfloat16 has 8 bits: under autocast all is as in float32 to some percent, at any length."""
    encoder, embedding = make(name)
    encoder, embedding = encoder.float(), embedding.float()
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(8, (2, words), generator=generator).tolist()
    documents = texts([[ids[0]], [ids[1], [1, 2]]])
    results = []
    for enabled in (False, True):
        encoder.zero_grad()
        embedding.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            vectors = encoder(embedding.weight, documents)
        vectors.float().pow(2).sum().backward()
        parameters = [p.grad for n, p in encoder.named_parameters() if "pooling" not in n]
        results.append([vectors.float(), embedding.weight.grad, *parameters])
    for single, mixed in zip(*results, strict=True):
        assert (mixed - single).norm() < 0.08 * single.norm()


class PlainMean(torch.nn.Module):
    """A pooling that knows nothing of distinct words."""

    def __init__(self, dim):
        super().__init__()

    def forward(self, states, lengths):
        parts = states.split(lengths.tolist())
        return torch.stack([part.sum(0) / max(1, len(part)) for part in parts])


@pytest.mark.parametrize("kind", [WAN, HAN])
def test_a_pooling_of_ones_own(kind):
    torch.manual_seed(3)
    _, embedding = make("Mean")
    encoder = kind(INPUT_DIM, layer=DENSE, pooling=PlainMean).double()
    documents = texts([[[1, 2, 1], [3, 1]], [[2, 2, 2, 7]]])
    by_vector = encoder(*by_place(embedding(documents.words), documents))
    equal(encoder(embedding.weight, documents), by_vector)
