"""What every matcher promises. A new matcher is one more entry of CHANNELS."""

from functools import partial

import pytest
import torch

from gile_lightning.network.matchers import LexicalMatch, NameMention
from gile_testing.mentions import DOCUMENTS, LABELS, TEXT, encoded, label_set, made, scores

CHANNELS = {
    "LexicalMatch": LexicalMatch,
    "LexicalMatch, stems": partial(LexicalMatch, stemmer="english"),
    "NameMention": NameMention,
    "NameMention, stems": partial(NameMention, stemmer="english"),
}


@pytest.fixture(params=CHANNELS)
def matcher(request):
    """One with learned numbers that are not those of the start."""
    matcher = made(CHANNELS[request.param]).double()
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in matcher.parameters():
            parameter.add_(torch.rand_like(parameter))
    return matcher


def same(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def test_scores(matcher):
    found = scores(matcher)
    assert found.shape == (len(DOCUMENTS), len(LABELS))
    assert found.dtype == torch.float64
    assert not found[2].any()  # of an empty document


@pytest.mark.parametrize("ids", [[3], [5, 0, 2], [6, 5, 4, 3, 2, 1, 0], []], ids=str)
def test_some_labels_are_columns_of_all(matcher, ids):
    same(scores(matcher, ids=ids), scores(matcher)[:, ids])


def test_a_batch_is_its_documents(matcher):
    singly = [scores(matcher, [document]) for document in DOCUMENTS]
    same(scores(matcher), torch.cat(singly))


def test_the_order_of_the_label_set_changes_nothing(matcher):
    order = [4, 6, 0, 2, 1, 5, 3]
    names = list(LABELS)
    shuffled = label_set([names[i] for i in order])
    same(scores(matcher, labels=shuffled), scores(matcher)[:, order])


@pytest.mark.parametrize("documents", [[], [[]], [["Xylophone"]]], ids=str)
def test_nothing_to_match(matcher, documents):
    found = scores(matcher, documents)
    assert found.shape == (len(documents), len(LABELS))
    assert not found.any()


@pytest.mark.parametrize("names", [(), ("Nothing",)], ids=str)
def test_labels_without_a_word_of_the_documents(matcher, names):
    found = scores(matcher, labels=label_set(names))
    assert found.shape == (len(DOCUMENTS), len(names))
    assert not found.any()


@pytest.mark.parametrize("documents", [DOCUMENTS, [["Xylophone"]], []], ids=["some", "none", "no"])
@pytest.mark.parametrize("names", [tuple(LABELS), ("Nothing",)], ids=["all", "no match"])
def test_every_parameter_has_a_gradient(matcher, documents, names):
    """Several processes wait for each."""
    scores(matcher, documents, label_set(names)).sum().backward()
    for name, parameter in matcher.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if not documents or names == ("Nothing",):
            assert not parameter.grad.any(), name


def test_gradients(matcher):
    labels = label_set()
    index = matcher.index(TEXT, labels, None)
    chosen, documents = index.gather(torch.arange(len(labels))), encoded()
    parameters = dict(matcher.named_parameters())

    def score(*values):
        given = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(matcher, given, (documents, chosen))

    assert torch.autograd.gradcheck(score, tuple(parameters.values()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_mixed_precision(matcher, dtype):
    """Scores stay in float32: sums of many words are no place for bfloat16."""
    expected = scores(matcher)
    matcher.float()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
        found = scores(matcher)
        found.sum().backward()
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


def test_parameters_are_those_of_the_vocabulary(matcher):
    """And the index of a label set is no part of the state."""
    before = matcher.state_dict()
    index = matcher.index(TEXT, label_set(), None)
    assert not index.state_dict()
    assert not list(index.parameters())
    assert matcher.state_dict().keys() == before.keys()


def test_an_index_moves(matcher):
    index = matcher.index(TEXT, label_set(), None).to("meta")
    assert {buffer.device.type for buffer in index.buffers()} == {"meta"}
