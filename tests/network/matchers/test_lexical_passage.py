"""The best passage of a document by its words, against lexical matching of each passage alone."""

import math
from functools import partial

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.matchers import LexicalMatch, LexicalPassage, passage_search
from gile_testing.mentions import DOCUMENTS, LABELS, TEXT, encoded, label_set, made, scores

LONG = [[" ".join(part for document in DOCUMENTS for part in document)], *DOCUMENTS]
EVERY = torch.arange(len(LABELS))


def passages_of(words, size):
    """Cut the words of a document, each passage from the middle of the one before on."""
    found, start = [words[:size]], 0
    while start + size < len(words):
        start += max(1, size // 2)
        found.append(words[start : start + size])
    return found


def alone(matcher, documents, size, text=TEXT):
    """Return a document for each passage of a document: lists of texts."""
    return [passages_of(text.words(" ".join(document)), size) for document in documents]


def expected_scores(plain, documents, size, text=TEXT):
    """Score each passage by a `LexicalMatch`, and take the highest score of a document."""
    labels = plain.prepare_labels(text, label_set(), None).select(EVERY)
    rows = []
    for passages in alone(plain, documents, size, text):
        read = [[" ".join(passage)] for passage in passages]
        rows.append(plain(Texts.from_flat(*text.documents(read)), labels).amax(0))
    return torch.stack(rows)


def both(size, stemmer=None, scale=4.0):
    """Make the matcher, and one of whole texts with the same weights.

    In this one, words of more than half of the documents get the factor 0.
    """
    matcher = made(
        partial(LexicalPassage, stemmer=stemmer, scale=scale, passage_words=size)
    ).double()
    plain = made(partial(LexicalMatch, stemmer=stemmer, scale=scale)).double()
    torch.manual_seed(1)
    with torch.no_grad():
        matcher.log_factor.normal_()
        plain.log_factor.copy_(matcher.log_factor)
        common = matcher.idf < math.log(2)
        assert 0 < common.sum() < 8
        plain.log_factor[common] = -math.inf
    return matcher, plain


@pytest.mark.parametrize("stemmer", [None, "english"])
@pytest.mark.parametrize("size", [1, 2, 5, 6, 200])
def test_scores_and_gradients(size, stemmer):
    matcher, plain = both(size, stemmer)
    found, expected = scores(matcher, LONG), expected_scores(plain, LONG, size)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)
    assert (found > 0).sum() > 20
    if size < 10:  # a passage has less than its text
        assert (found[0] > scores(plain, LONG)[0]).any()
    torch.manual_seed(2)
    factors = torch.randn_like(found)
    gradients = []
    for module, values in ((matcher, found), (plain, expected)):
        (values * factors).sum().backward()
        gradients.append([module.scale.grad, module.log_factor.grad])
    assert gradients[0][1].count_nonzero() > 10
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("scores_at_once", [1, 20])
def test_few_scores_at_a_time(monkeypatch, scores_at_once):
    """A document's passages may then be in several parts."""
    matcher, _ = both(3)
    found = scores(matcher, LONG)
    found.square().sum().backward()
    gradient = matcher.log_factor.grad.clone()
    monkeypatch.setattr(passage_search, "SCORES", scores_at_once)
    matcher.zero_grad()
    again = scores(matcher, LONG)
    torch.testing.assert_close(again, found)
    again.square().sum().backward()
    torch.testing.assert_close(matcher.log_factor.grad, gradient)
    with torch.no_grad():  # which remembers no passage
        torch.testing.assert_close(scores(matcher, LONG), found)


def test_some_labels_in_another_order():
    matcher, _ = both(3)
    every = scores(matcher, LONG)
    torch.testing.assert_close(scores(matcher, LONG, ids=[4, 0, 6]), every[:, [4, 0, 6]])
    assert scores(matcher, LONG, ids=[]).shape == (len(LONG), 0)
    assert scores(matcher, []).shape == (0, len(LABELS))


@pytest.mark.parametrize("scores_at_once", [1, 20, passage_search.SCORES])
@pytest.mark.parametrize("size", [1, 4])
def test_new_words(monkeypatch, size, scores_at_once):
    """They make a passage longer for the labels that have them, and for no others."""
    monkeypatch.setattr(passage_search, "SCORES", scores_at_once)
    matcher, plain = both(size)
    text = TEXT.extended(["xylophone", "organ-grinder"])
    read = Texts.from_flat(*text.documents(LONG))
    labels = matcher.prepare_labels(text, label_set(), None).select(EVERY)
    found = matcher(read, labels)
    expected = expected_scores(plain, LONG, size, text)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)
    assert not torch.allclose(found, scores(matcher, LONG))
    for module, values in ((matcher, found), (plain, expected)):
        values.square().sum().backward()
        assert module.log_factor.grad.count_nonzero() > 5
    torch.testing.assert_close(matcher.log_factor.grad, plain.log_factor.grad)
    by_word = matcher.by_word(read, labels)
    lengths = [len(text.words(" ".join(document))) for document in LONG]
    sums = torch.stack([own.sum(0) for own in by_word.split(lengths)])
    torch.testing.assert_close(sums, found, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("size", [2, 5, 200])
def test_words_of_the_best_passage_carry_its_score(size):
    matcher, plain = both(size, "english")
    labels = matcher.prepare_labels(TEXT, label_set(), None).select(EVERY)
    found = matcher.by_word(encoded(LONG), labels).detach()
    lengths = [len(TEXT.words(" ".join(document))) for document in LONG]
    sums = torch.stack([own.sum(0) for own in found.split(lengths)])
    torch.testing.assert_close(sums, scores(matcher, LONG).detach(), rtol=1e-6, atol=1e-7)
    plain_labels = plain.prepare_labels(TEXT, label_set(), None).select(EVERY)
    passages = alone(matcher, LONG[:1], size)[0]
    best = scores_of(plain, passages, plain_labels).argmax(0)
    for column in range(len(LABELS)):
        start = int(best[column]) * max(1, size // 2)
        passage = [[" ".join(passages[int(best[column])])]]
        expected = plain.by_word(Texts.from_flat(*TEXT.documents(passage)), plain_labels)[:, column]
        here = found[: lengths[0], column]
        torch.testing.assert_close(here[start : start + len(expected)], expected.detach())
        assert here.count_nonzero() == expected.count_nonzero()


def scores_of(plain, passages, labels):
    read = [[" ".join(passage)] for passage in passages]
    return plain(Texts.from_flat(*TEXT.documents(read)), labels)


@pytest.mark.parametrize("scores_at_once", [1, 20, passage_search.SCORES])
def test_the_first_of_equal_passages_is_the_best(monkeypatch, scores_at_once):
    monkeypatch.setattr(passage_search, "SCORES", scores_at_once)
    matcher, _ = both(1)
    labels = matcher.prepare_labels(TEXT, label_set(), None).select(EVERY)
    once = matcher.by_word(encoded(DOCUMENTS[:1]), labels)
    twice = matcher.by_word(encoded([DOCUMENTS[0] * 2]), labels)
    torch.testing.assert_close(twice[: len(once)], once)
    assert once.count_nonzero()
    assert not twice[len(once) :].any()


def test_weights_that_are_not_trained():
    matcher, _ = both(3)
    expected = scores(matcher, LONG)
    matcher.log_factor.requires_grad_(False)
    found = scores(matcher, LONG)
    torch.testing.assert_close(found, expected)
    found.sum().backward()
    torch.testing.assert_close(matcher.scale.grad, found.sum().detach() / matcher.scale)


def test_weights_in_half_precision():
    matcher, _ = both(3)
    expected = scores(matcher, LONG).detach()
    found = scores(matcher.bfloat16(), LONG)
    torch.testing.assert_close(found.double(), expected, rtol=0.03, atol=0.03)
    found.sum().backward()
    assert matcher.log_factor.grad.isfinite().all()


def test_weights_that_are_not_numbers():
    """The scores are none either; nothing is looked up outside of a passage."""
    matcher, _ = both(4)
    text = TEXT.extended(["xylophone", "organ-grinder"])
    labels = matcher.prepare_labels(text, label_set(), None).select(EVERY)
    with torch.no_grad():
        matcher.log_factor.fill_(math.nan)
    found = matcher(Texts.from_flat(*text.documents(LONG)), labels)
    assert found.isnan().any()
    found.sum().backward()


def test_a_size_that_is_none():
    with pytest.raises(InputError, match="passage_words is 0"):
        LexicalPassage(TEXT, passage_words=0)
