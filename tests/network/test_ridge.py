"""The ridge regression of seen labels, against scikit-learn's."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.linear_model import Ridge as Oracle

from gile_lightning.common.errors import InputError
from gile_lightning.network import LabelledVectors, Ridge
from gile_lightning.network.ridge import BLOCK, _inverse

PENALTY = 0.7
LABELS = [[0, 2], [], [1], [2], [0, 1, 2], [3], [1, 3]]


@pytest.fixture
def vectors():
    return torch.randn(len(LABELS), 5, generator=torch.Generator().manual_seed(3)).double()


@pytest.fixture
def targets():
    return torch.tensor([[float(label in own) for label in range(4)] for own in LABELS]).double()


@pytest.fixture
def ridge(vectors):
    """A regression on all documents, in two batches of different size."""
    made = Ridge(5, 4, penalty=PENALTY, boost=1.5).double()
    made.fit(
        LabelledVectors(
            vectors[part],
            torch.tensor([label for own in LABELS[part] for label in own]),
            torch.tensor([len(own) for own in LABELS[part]]),
        )
        for part in (slice(0, 3), slice(3, None))
    )
    return made


def predicted(vectors, targets, of, scale=15):
    """What scikit-learn predicts of some vectors, times a scale."""
    rows, asked = (F.normalize(torch.as_tensor(x)).numpy() for x in (vectors, of))
    oracle = Oracle(alpha=PENALTY, fit_intercept=False).fit(rows, targets.numpy())
    return scale * oracle.predict(asked)


def test_predictions_are_those_of_scikit_learn(ridge, vectors, targets):
    new = torch.randn(3, 5, generator=torch.Generator().manual_seed(4)).double()
    found = ridge(new, torch.arange(4)).detach()
    np.testing.assert_allclose(found, predicted(vectors, targets, new), rtol=1e-10)
    some = ridge(new, torch.tensor([2, 0])).detach()
    # processors add up the products of two columns and of four in another order
    torch.testing.assert_close(some, found[:, [2, 0]], rtol=1e-12, atol=1e-12)


def test_some_labels_at_a_time(ridge, vectors, targets, monkeypatch):
    ids = torch.tensor([2, 0, 3])
    whole = ridge(vectors, ids, targets[:, ids])
    monkeypatch.setattr("gile_lightning.network.ridge.COPIED", 10)  # the coefficients of two labels
    again = ridge(vectors, ids, targets[:, ids])
    torch.testing.assert_close(again, whole, rtol=1e-12, atol=1e-12)
    assert ridge(vectors, ids[:0]).shape == (len(vectors), 0)


def test_a_training_document_is_scored_by_the_others(ridge, vectors, targets):
    """Against regressions on all documents but one."""
    found = ridge(vectors, torch.arange(4), targets).detach().numpy()
    for i in range(len(LABELS)):
        others = [j for j in range(len(LABELS)) if j != i]
        expected = predicted(vectors[others], targets[others], vectors[i : i + 1], 10)[0]
        np.testing.assert_allclose(found[i], expected, rtol=1e-8, atol=1e-12)


def test_bfloat16_changes_nothing(ridge, vectors, targets):
    ridge = ridge.float()
    before = ridge(vectors.float(), torch.arange(4), targets.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = ridge(vectors.float(), torch.arange(4), targets.float())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, before, rtol=0, atol=0)


def test_a_model_in_16_bits_keeps_a_regression_in_float32(ridge, vectors, targets):
    """Its inverse, rounded, would tell nothing of a document that it was fitted to."""
    ridge = ridge.float()
    before = ridge(vectors.float(), torch.arange(4), targets.float())
    expected = before / 10.0
    ridge.to(torch.bfloat16)
    assert ridge.inverse.dtype == ridge.coefficients.dtype == torch.float32
    found = ridge(vectors.float(), torch.arange(4), targets.float()) / 10.0
    torch.testing.assert_close(found.float(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("penalty", [-1, 0, 0.0009])
def test_a_penalty_is_not_too_small(penalty):
    with pytest.raises(InputError, match=f"penalty is {penalty}; it must be 0.001 or more"):
        Ridge(5, 4, penalty=penalty)


@pytest.mark.parametrize("penalty", [PENALTY, 0.2])
def test_a_regression_goes_on_with_further_documents(vectors, targets, penalty):
    """Against one of all documents at once; the second has further labels, in another order."""
    first = Ridge(5, 3, penalty=PENALTY).double()
    own = [[label for label in own if label < 3] for own in LABELS[:4]]
    flat = torch.tensor([label for row in own for label in row])
    first.fit([LabelledVectors(vectors[:4], flat, torch.tensor([len(row) for row in own]))])
    ids = torch.tensor([2, -1, 0, 1])  # of the labels of the first, that are 1, 2 and 3 now
    state = {f"ridge.{key}": value for key, value in first.state_dict().items()}
    second = Ridge(5, 4, penalty=penalty).double()
    selected = second.select(state, ids)
    second.load_state_dict({key.removeprefix("ridge."): x for key, x in selected.items()})
    order = [2, 3, 0, 1]  # the labels here as those of the oracle
    later = [[order.index(label) for label in row] for row in LABELS[4:]]
    flat = torch.tensor([label for row in later for label in row])
    counts = torch.tensor([len(row) for row in later])
    second.fit([LabelledVectors(vectors[4:], flat, counts)], known=PENALTY)
    known = targets.clone()
    known[:4, 3] = 0  # the first did not have that label
    rows = F.normalize(vectors).numpy()
    oracle = Oracle(alpha=penalty, fit_intercept=False).fit(rows, known.numpy()[:, order])
    np.testing.assert_allclose(second.coefficients.numpy(), oracle.coef_, atol=1e-10)


def test_single_precision_is_enough_to_go_on():
    """A thousand documents of 30 numbers, in four parts, with a checkpoint after each."""
    generator = torch.Generator().manual_seed(5)
    vectors = torch.randn(1000, 30, generator=generator) + 1.0  # one direction has nearly all
    labels = (vectors[:, :6].argmax(1)).long()
    ridge = Ridge(30, 6, penalty=0.3)
    for i, part in enumerate(torch.arange(1000).chunk(4)):
        batch = LabelledVectors(vectors[part], labels[part], torch.ones(len(part)).long())
        ridge.fit([batch], known=0.3 if i else None)
    oracle = Oracle(alpha=0.3, fit_intercept=False)
    oracle.fit(F.normalize(vectors).double().numpy(), F.one_hot(labels).numpy())
    np.testing.assert_allclose(ridge.coefficients.numpy(), oracle.coef_, atol=2e-6)


def test_an_inverse_without_precision_is_refused():
    ridge = Ridge(2, 1)
    ridge.inverse.copy_(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))  # not positive definite
    with pytest.raises(InputError, match="cannot be continued: it has too many documents"):
        ridge.fit([], known=0.3)


def test_an_inverse_of_several_blocks():
    vectors = torch.randn(900, 2 * BLOCK + 44, generator=torch.Generator().manual_seed(0)).double()
    matrix = vectors.T @ vectors + torch.eye(vectors.shape[1], dtype=torch.float64)
    found = _inverse(matrix)
    torch.testing.assert_close(found, torch.linalg.inv(matrix), rtol=1e-9, atol=1e-12)
