"""Learned lexical matching, against scikit-learn and dense matrices."""

from functools import partial

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.matchers import LexicalMatch
from gile_lightning.network.matchers.bag_match import multiply
from gile_lightning.network.matchers.stems import stem_ids
from gile_testing.mentions import DOCUMENTS, LABELS, TEXT, encoded, label_set, made, scores

STEMS = dict(zip(TEXT.vocabulary, stem_ids(TEXT.vocabulary, "english").tolist(), strict=True))


def label_texts():
    return [" ".join((name, text, *more)) for name, (text, more) in LABELS.items()]


def words(text, stemmer=None):
    """The known words of a text, or their stems."""
    found = [word for word in TEXT.words(text) if word in TEXT.vocabulary]
    return found if stemmer is None else [str(STEMS[word]) for word in found]


@pytest.mark.parametrize("scale", [10.0, 3.0])
def test_tf_idf_at_the_start(scale):
    vectorizer = TfidfVectorizer(
        analyzer=words, lowercase=False, sublinear_tf=True, vocabulary=list(TEXT.vocabulary)
    )
    vectorizer.fit([" ".join(document) for document in DOCUMENTS])
    vectorizer.idf_ = vectorizer.idf_ - 1  # which it adds
    vectors = vectorizer.transform([" ".join(document) for document in DOCUMENTS])
    expected = scale * (vectors @ vectorizer.transform(label_texts()).T).toarray()
    matcher = made(partial(LexicalMatch, scale=scale))
    assert (expected > 0).sum() > 15
    np.testing.assert_allclose(scores(matcher).detach(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(matcher.idf[:-1], vectorizer.idf_[:-1], rtol=1e-6)  # without UNK's


def dense(matcher, stemmer):
    """The scores by matrices of all stems: [B, K]."""
    sets = ([" ".join(document) for document in DOCUMENTS], label_texts())
    tables = []
    for texts in sets:
        counts = torch.zeros(len(texts), matcher.term_count, dtype=torch.float64)
        for row, text in enumerate(texts):
            for word in words(text):
                counts[row, STEMS[word] if stemmer else TEXT.vocabulary.index(word)] += 1
        tf = torch.where(counts > 0, 1 + counts.clamp(min=1).log(), 0)
        table = tf * matcher.idf * matcher.log_factor.exp()
        tables.append(table / (table**2).sum(1, keepdim=True).clamp(min=1e-12).sqrt())
    return 10 * matcher.scale * tables[0] @ tables[1].T


@pytest.mark.parametrize("stemmer", [None, "english"])
def test_learned_weights_and_their_gradients(stemmer):
    matcher = made(partial(LexicalMatch, stemmer=stemmer)).double()
    torch.manual_seed(1)
    with torch.no_grad():
        matcher.log_factor.normal_()
    factors = torch.randn(len(DOCUMENTS), len(LABELS), dtype=torch.float64)
    results = []
    for found in (scores(matcher), dense(matcher, stemmer)):
        matcher.zero_grad()
        (found * factors).sum().backward()
        gradients = [parameter.grad.clone() for parameter in matcher.parameters()]
        results.append([found.detach(), *gradients])
    assert results[0][2].count_nonzero() > 10
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-12)


def test_new_words():
    """They count in the norm of a document for the labels that have them, and for no others."""
    matcher = made(LexicalMatch)
    text = TEXT.extended(["xylophone", "organ-grinder"])
    read = Texts.from_flat(*text.documents(DOCUMENTS))
    every = torch.arange(len(LABELS))
    found = matcher(read, matcher.prepare_labels(text, label_set(), None).select(every)).detach()
    known = scores(matcher).detach()
    have = torch.tensor(["xylophone" in text for text in label_texts()])
    assert torch.equal(found[:, ~have], known[:, ~have])
    idf = dict(zip(TEXT.vocabulary, matcher.idf.tolist(), strict=True))
    idf["xylophone"] = max(idf.values())
    for row, document in enumerate(DOCUMENTS):
        for column in have.nonzero().flatten().tolist():
            bags = []
            for given in (" ".join(document), label_texts()[column]):
                tokens = [word for word in TEXT.words(given) if word in idf]
                bags.append({w: (1 + np.log(tokens.count(w))) * idf[w] for w in set(tokens)})
            lengths = [np.sqrt(sum(value**2 for value in bag.values())) for bag in bags]
            product = sum(value * bags[1].get(word, 0) for word, value in bags[0].items())
            expected = 10 * product / max(lengths[0] * lengths[1], 1e-9)
            assert float(found[row, column]) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_documents_whose_words_are_rows_of_a_table():
    matcher = made(LexicalMatch)
    labels = matcher.prepare_labels(TEXT, label_set(), None).select(torch.arange(len(LABELS)))
    rows = encoded()._replace(words=torch.zeros_like(encoded().words), ids=encoded().words)
    assert torch.equal(matcher(rows, labels), matcher(encoded(), labels))


@pytest.mark.parametrize("lengths", [[2, 0, 3], [0, 0], [], [1]], ids=str)
def test_multiply(lengths):
    torch.manual_seed(2)
    lengths = torch.tensor(lengths, dtype=torch.long)
    n = int(lengths.sum())
    columns, weights = torch.arange(n) % 4, torch.rand(n, dtype=torch.float64)
    table = torch.rand(4, 3, dtype=torch.float64, requires_grad=True)
    matrix = torch.zeros(len(lengths), 4, dtype=torch.float64)
    rows = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    matrix.index_put_((rows, columns), weights, accumulate=True)
    torch.testing.assert_close(multiply(table, columns, weights, lengths), matrix @ table)
    assert torch.autograd.gradcheck(lambda t: multiply(t, columns, weights, lengths), (table,))
