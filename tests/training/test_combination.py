import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from gile_lightning.training.combination import Combination, fit_combination


def pairs(weights, count, seed=1):
    """Draw pairs whose probabilities follow from these weights."""
    generator = np.random.default_rng(seed)
    log_odds, scores = generator.normal(-1, 2, count), generator.normal(0, 1, count)
    correct = generator.random(count) < expit(Combination(*weights)(log_odds, scores))
    return log_odds, scores, correct


def test_weights_are_those_of_scikit_learn():
    log_odds, scores, correct = pairs((-0.5, 0.8, 0.6), 20_000)
    oracle = LogisticRegression(C=np.inf, tol=1e-10).fit(np.stack([log_odds, scores], 1), correct)
    expected = [*oracle.intercept_, *oracle.coef_[0]]
    np.testing.assert_allclose(fit_combination(log_odds, scores, correct), expected, atol=2e-3)


def test_the_penalty_holds_weights_where_few_pairs_speak():
    """The gradient of the penalized loss is zero: Σ (p - y) x + w - start = 0."""
    log_odds, scores, correct = pairs((0.3, 1.1, 2.0), 40)
    found = fit_combination(log_odds, scores, correct)
    wrong = expit(found(log_odds, scores)) - correct
    gradient = [wrong.sum(), wrong @ log_odds, wrong @ scores]
    np.testing.assert_allclose(gradient, -(np.array(found) - Combination()), atol=1e-5)
    nothing = np.zeros(0)
    assert fit_combination(nothing, nothing, nothing > 0) == Combination(0, 1, 0)


def test_infinite_log_odds_are_very_high_or_low():
    """A first stage may give these, as the cosine of texts that share no word is 0."""
    log_odds, scores, correct = pairs((0.5, 0.8, 2.0), 2_000)
    infinite = log_odds.copy()
    infinite[:2], correct[:2] = [np.inf, -np.inf], [True, False]
    log_odds[:2] = [30, -30]
    found = fit_combination(infinite, scores, correct)
    assert found == fit_combination(log_odds, scores, correct)
    assert found.second == pytest.approx(2, abs=0.2)
    np.testing.assert_array_equal(found(infinite, scores), found(log_odds, scores))


def test_a_score_that_misleads_counts_nothing():
    log_odds, scores, correct = pairs((0, 1, -1), 2_000)
    assert fit_combination(log_odds, scores, correct).second == 0
    assert fit_combination(log_odds, -scores, correct).second == pytest.approx(1, abs=0.2)
