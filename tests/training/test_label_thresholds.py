import numpy as np
import pytest
from scipy.special import logit

from gile_lightning.training.label_thresholds import SHRINKAGE, label_thresholds


def test_a_label_with_many_documents_has_its_own_threshold():
    """Label 0 is right above 0.8, label 1 above 0.1, and label 2 does not occur."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 40_000).astype(np.int32)
    p = rng.random(40_000)
    correct = p > np.where(labels == 0, 0.8, 0.1)
    found = label_thresholds(logit(p), correct, labels, 3, 0.4, 0.7)
    np.testing.assert_allclose(found, [0.8, 0.1, 0.4], atol=0.02)


def test_a_rare_one_is_near_the_common_threshold():
    p, correct = np.array([0.9, 0.85, 0.6, 0.55]), np.array([True, False, False, False])
    (found,) = label_thresholds(logit(p), correct, np.zeros(4, np.int32), 1, 0.4, 0.7)
    own = logit(0.86)  # above all that are wrong, of the best the nearest to the common one
    assert logit(found) == pytest.approx((own + SHRINKAGE * logit(0.4)) / (1 + SHRINKAGE))


def test_an_earlier_threshold_takes_the_place_of_the_common_one():
    p, correct = np.array([0.9, 0.85, 0.6, 0.55]), np.array([True, False, False, False])
    before = np.array([0.7, np.nan, 0.2])
    found = label_thresholds(logit(p), correct, np.zeros(4, np.int32), 3, 0.4, 0.7, before)
    own = logit(0.86)
    assert logit(found[0]) == pytest.approx((own + SHRINKAGE * logit(0.7)) / (1 + SHRINKAGE))
    np.testing.assert_allclose(found[1:], [0.4, 0.2])
