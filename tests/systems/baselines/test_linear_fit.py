import numpy as np
import pytest
import torch
from joblib import parallel_config
from scipy.sparse import csc_array, csr_array
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC, LinearSVR

from gile_lightning.systems.baselines import linear_fit
from gile_lightning.systems.baselines.linear_fit import SparseLinear, fit_labels

GENERATOR = np.random.default_rng(0)
FEATURES = GENERATOR.random((40, 12)) * (GENERATOR.random((40, 12)) < 0.4)
TARGETS = GENERATOR.random((40, 7)) < 0.3
TARGETS[:, 2], TARGETS[:, 5] = False, True
USUAL = [0, 1, 3, 4, 6]


def fitted(estimator, **options):
    weights, intercepts = fit_labels(
        estimator, csr_array(FEATURES), csc_array(TARGETS.astype(float)), **options
    )
    return weights.toarray(), intercepts


CLASSIFIERS = [
    LogisticRegression(solver="liblinear", random_state=0),
    LinearSVC(random_state=0),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_decision_values_of_classifiers(estimator):
    weights, intercepts = fitted(estimator)
    found = FEATURES @ weights.T + intercepts
    for label in USUAL:
        one = estimator.fit(csr_array(FEATURES), TARGETS[:, label])
        expected = one.decision_function(csr_array(FEATURES))
        assert found[:, label] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        Ridge(alpha=0.3, fit_intercept=False, solver="cholesky"),
        LinearSVR(random_state=0),
    ],
    ids=["with intercept", "without", "one target"],
)
def test_regressors_estimate_probabilities(estimator):
    weights, intercepts = fitted(estimator)
    for label in USUAL:
        one = estimator.fit(csr_array(FEATURES), TARGETS[:, label].astype(float))
        expected = 4 * (one.predict(csr_array(FEATURES)) - 0.5)
        assert FEATURES @ weights[label] + intercepts[label] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("estimator", [CLASSIFIERS[0], Ridge()], ids=["one", "many"])
def test_labels_of_no_document_or_all(estimator):
    weights, intercepts = fitted(estimator)
    assert not weights[[2, 5]].any()
    assert intercepts[[2, 5]] == pytest.approx([np.log(0.5 / 40.5), np.log(40.5 / 0.5)])


@pytest.mark.parametrize("numbers", [1, 80, 120])  # blocks of 1, 2 and 3 labels
@pytest.mark.parametrize("estimator", [Ridge(), RidgeClassifier()], ids=lambda e: type(e).__name__)
def test_blocks_of_labels(estimator, numbers, monkeypatch):
    whole = fitted(estimator)
    monkeypatch.setattr(linear_fit, "_NUMBERS", numbers)
    for found, expected in zip(fitted(estimator), whole, strict=True):
        assert found == pytest.approx(expected, abs=1e-3)


def test_labels_are_fitted_side_by_side():
    with parallel_config("threading"):  # processes take seconds to start
        together = fitted(CLASSIFIERS[0], n_jobs=2)
    for found, expected in zip(together, fitted(CLASSIFIERS[0]), strict=True):
        assert (found == expected).all()


def test_small_coefficients_are_dropped():
    all_of_them, intercepts = fitted(CLASSIFIERS[0])
    assert (np.abs(all_of_them) < 0.5).sum() > 40
    kept, after = fitted(CLASSIFIERS[0], prune=0.5)
    assert (kept == np.where(np.abs(all_of_them) < 0.5, 0, all_of_them)).all()
    assert (after == intercepts).all()


def test_sparse_matrix_survives_its_state():
    weights = csr_array(np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, -3]]))
    linear = SparseLinear(3)
    assert linear.matrix(3).nnz == 0
    linear.set(weights, np.array([1.0, 2.0, 3.0]))
    assert sum(p.numel() for p in linear.parameters()) == 6
    assert (linear.matrix(3).toarray() == weights.toarray()).all()
    other = SparseLinear(3, coefficients=3)
    other.load_state_dict(linear.state_dict())
    assert (other.matrix(3).toarray() == weights.toarray()).all()
    assert torch.equal(other.intercepts, torch.tensor([1.0, 2.0, 3.0]))
