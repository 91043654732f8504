"""What every matcher promises that compares words. A new one is one more entry of MATCHERS."""

from functools import partial

import pytest
import torch

from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.network.matchers import (
    CharacterMatch,
    LexicalMatch,
    LexicalPassage,
    NameMention,
)
from gile_testing.mentions import DOCUMENTS, LABELS, TEXT, encoded, label_set, made, scores

MATCHERS = {
    "CharacterMatch": CharacterMatch,
    "LexicalMatch": LexicalMatch,
    "LexicalMatch, stems": partial(LexicalMatch, stemmer="english"),
    "LexicalPassage": partial(LexicalPassage, stemmer="english", passage_words=4),
    "NameMention": NameMention,
    "NameMention, stems": partial(NameMention, stemmer="english"),
    "NameMention, taxonomy": partial(NameMention, hidden=2, taxonomy=True),
}
ALL = torch.arange(len(LABELS))


@pytest.fixture(params=MATCHERS)
def matcher(request):
    """A matcher with other numbers than before training."""
    matcher = made(MATCHERS[request.param]).double()
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
    same(scores(matcher), torch.cat([scores(matcher, [document]) for document in DOCUMENTS]))


def test_the_order_of_the_label_set_changes_nothing(matcher):
    order = [4, 6, 0, 2, 1, 5, 3]
    shuffled = label_set([list(LABELS)[i] for i in order])
    same(scores(matcher, labels=shuffled), scores(matcher)[:, order])


def test_preparing_another_label_set_changes_nothing(matcher):
    before = scores(matcher)
    scores(matcher, labels=label_set(("Liver",)))
    assert torch.equal(scores(matcher), before)


@pytest.mark.parametrize("documents", [[], [[]], [["Xylophone"]]], ids=str)
def test_documents_without_a_word_of_the_labels(matcher, documents):
    found = scores(matcher, documents)
    assert found.shape == (len(documents), len(LABELS))
    assert not found.any()


@pytest.mark.parametrize("names", [(), ("Nothing",)], ids=str)
def test_labels_without_a_word_of_the_documents(matcher, names):
    found = scores(matcher, labels=label_set(names))
    assert found.shape == (len(DOCUMENTS), len(names))
    assert not found.any()


@pytest.mark.parametrize("kind", [CharacterMatch, LexicalMatch, LexicalPassage, NameMention])
def test_synonyms_can_be_left_out(kind):
    without = LabelSet(list(LABELS), [text for text, _ in LABELS.values()], [1] * len(LABELS))
    left_out = scores(made(partial(kind, synonyms=False)))
    assert torch.equal(left_out, scores(made(kind), labels=without))
    assert not torch.equal(left_out, scores(made(kind)))


@pytest.mark.parametrize("documents", [DOCUMENTS, [["Xylophone"]], []], ids=["some", "none", "no"])
@pytest.mark.parametrize("names", [tuple(LABELS), ("Nothing",)], ids=["all", "no match"])
def test_every_parameter_has_a_gradient(matcher, documents, names):
    """DDP waits for each."""
    scores(matcher, documents, label_set(names)).sum().backward()
    for name, parameter in matcher.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if not documents or names == ("Nothing",):
            assert not parameter.grad.any(), name


def test_gradients(matcher):
    labels, documents = matcher.prepare_labels(TEXT, label_set(), None).select(ALL), encoded()
    parameters = dict(matcher.named_parameters())

    def score(*values):
        given = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(matcher, given, (documents, labels))

    assert torch.autograd.gradcheck(score, tuple(parameters.values()))


def test_settled_labels_change_no_score(matcher):
    """The labels themselves stay, for weights that change afterwards."""
    labels, documents = matcher.prepare_labels(TEXT, label_set(), None).select(ALL), encoded()
    expected = matcher(documents, labels)
    settled = matcher.settled(labels)
    same(matcher(documents, settled), expected)
    same(matcher(documents, labels), expected)
    with torch.no_grad():
        for parameter in matcher.parameters():
            parameter.mul_(2)
    after = matcher(documents, labels)
    assert not torch.allclose(after, expected)
    same(matcher(documents, matcher.settled(labels)), after)


def test_what_is_looked_up_ahead_changes_no_score(matcher):
    """Nothing of it depends on weights, and nothing is looked up again."""
    labels, documents = matcher.prepare_labels(TEXT, label_set(), None).select(ALL), encoded()
    found = matcher.look_up(documents, labels)
    with torch.no_grad():
        for parameter in matcher.parameters():
            parameter.mul_(2)
    parameters = tuple(matcher.parameters())
    expected, actual = matcher(documents, labels), matcher(documents._replace(words=None), found)
    same(actual, expected)
    weights = torch.rand_like(expected)
    same(
        torch.autograd.grad((actual * weights).sum(), parameters),
        torch.autograd.grad((expected * weights).sum(), parameters),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_mixed_precision(matcher, dtype):
    """Scores stay in float32: bfloat16 is too short for sums of many words."""
    expected = scores(matcher)
    matcher.float()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
        found = scores(matcher)
        found.sum().backward()
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


def test_prepared_labels_move_but_are_not_saved(matcher):
    before = matcher.state_dict().keys()
    labels = matcher.prepare_labels(TEXT, label_set(), None)
    assert not labels.state_dict()
    assert not list(labels.parameters())
    assert matcher.state_dict().keys() == before
    assert all(buffer.device.type == "meta" for buffer in labels.to("meta").buffers())
