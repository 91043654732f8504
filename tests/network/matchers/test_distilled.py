"""Word vectors that are fitted to a pretrained model's, against scikit-learn and NumPy."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.frequencies import document_frequencies
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers import DistilledCosine
from gile_lightning.network.matchers.distilled import principal
from gile_testing.mentions import DOCUMENTS, LABELS, encoded, label_set
from gile_testing.mentions import TEXT as PLAIN

TEXT = Tokenizer(PLAIN.vocabulary, pretrained="no model is needed to score")
DIM, PENALTY = 3, 0.2
TEXTS = [text for text, _ in LABELS.values()]


def encode(texts, inputs=frozenset()):
    return encoded([[text] if text else [] for text in texts])


def vectors(count):
    """Stand in for those of a pretrained model."""
    return torch.randn(count, 5, generator=torch.Generator().manual_seed(count))


@pytest.fixture
def matcher():
    matcher = DistilledCosine(TEXT, dim=DIM, scale=4.0, penalty=PENALTY)
    documents = encoded()
    counts = document_frequencies([documents], len(TEXT.vocabulary))
    texts = [(documents, vectors(len(DOCUMENTS))), (encode(TEXTS), vectors(len(TEXTS)))]
    matcher.fit(texts, *counts)
    return matcher


def bags(texts, idf):
    """Return the weighted bags of texts, of length 1."""
    rows = np.zeros((len(texts), len(idf)))
    for row, text in zip(rows, texts, strict=True):
        for word in TEXT.documents([text])[0]:
            row[word] += 1
    rows[rows > 0] = 1 + np.log(rows[rows > 0])
    rows *= idf
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def expected(documents, labels):
    """Compute the cosines with the regression of scikit-learn."""
    present = np.array(
        [[w in TEXT.documents([d])[0] for d in DOCUMENTS] for w in range(len(TEXT.vocabulary))]
    )
    idf = np.log((1 + len(DOCUMENTS)) / (1 + present.sum(1)))
    idf[-1] = 0
    targets = torch.cat([vectors(len(DOCUMENTS)), vectors(len(TEXTS))]).numpy()
    left, sizes, _ = np.linalg.svd(targets, full_matrices=False)
    oracle = Ridge(alpha=PENALTY, fit_intercept=False)
    oracle.fit(bags([*DOCUMENTS, *TEXTS], idf), (left * sizes)[:, :DIM])
    one, other = (oracle.predict(bags(texts, idf)) for texts in (documents, labels))
    one, other = (
        x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (one, other)
    )
    return one @ other.T


@pytest.mark.parametrize("ids", [list(range(len(LABELS))), [3, 0]], ids=str)
def test_scores(matcher, ids):
    labels = matcher.prepare_labels(TEXT, label_set(), encode).select(torch.tensor(ids))
    found = matcher(encoded(), labels)
    wanted = 4 * expected(DOCUMENTS, [TEXTS[i] for i in ids])
    np.testing.assert_allclose(found.detach(), wanted, atol=1e-4)
    found.sum().backward()  # the scale alone is learned, in units of 10
    torch.testing.assert_close(matcher.scale.grad, found.detach().sum() / 0.4, atol=1e-4, rtol=0)


def test_labels_may_be_prepared_before_the_word_vectors_are_there(matcher):
    other = DistilledCosine(TEXT, dim=DIM)
    labels = other.prepare_labels(TEXT, label_set(), encode)
    other.load_state_dict(matcher.state_dict())
    ids = torch.arange(len(LABELS))
    before = matcher.prepare_labels(TEXT, label_set(), encode).select(ids)
    torch.testing.assert_close(labels.select(ids), before)
    assert not labels.state_dict()
    assert matcher.state_dict().keys() == {"scale", "vectors"}


def test_new_words_count_nothing(matcher):
    text = TEXT.extended(["xylophone"])
    labels = LabelSet(["A", "B"], ["the liver", "the liver xylophone"], [0, 0])

    def encode_all(texts, inputs):
        return Texts.from_flat(*text.documents(texts))

    found = matcher.prepare_labels(text, labels, encode_all).select(torch.arange(2))
    torch.testing.assert_close(found[0], found[1])


def test_principal_directions_keep_products():
    targets = vectors(4).numpy()  # of rank 4
    for dim in (4, 7):
        reduced = principal(targets, dim)
        assert reduced.shape == (4, dim)
        np.testing.assert_allclose(reduced @ reduced.T, targets @ targets.T, atol=1e-5)


def test_it_needs_a_pretrained_model():
    with pytest.raises(InputError, match=r"set --data\.pretrained"):
        DistilledCosine(PLAIN)


def test_words_add_up_to_the_scores(matcher):
    """Each occurrence adds the same, and UNK nothing."""
    labels = matcher.prepare_labels(TEXT, label_set(), encode).select(torch.arange(len(LABELS)))
    found, words = matcher.by_word(encoded(), labels).detach(), encoded().words
    lengths = [sum(len(TEXT.words(piece)) for piece in document) for document in DOCUMENTS]
    sums = torch.stack([part.sum(0) for part in found.split(lengths)])
    assert torch.allclose(sums, matcher(encoded(), labels).detach(), atol=1e-5)
    assert not found[words == len(TEXT.vocabulary) - 1].any()
    first = found[: lengths[0]][words[: lengths[0]] == TEXT.word_ids(["abdomen"])[0]]
    assert len(first) == 3
    assert torch.allclose(first[0], first[1])
    assert first.any()
