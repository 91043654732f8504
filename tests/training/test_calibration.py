import numpy as np
import pytest
import scipy.optimize
import torch

from gile_lightning.metrics.best_pairs import Pairs
from gile_lightning.training.calibration import Calibration, Curve, fit_calibration

FREQUENCIES = [1000, 200, 50, 10, 3, 1]
RATES = torch.tensor([0.5] * 6).log()
TRUE = Curve(-1.0, 0.8, 0.4, 0.2)


def drawn(documents: int, curve: Curve, seen: bool, seed: int = 0) -> Pairs:
    """Documents with three labels each, whose log-odds the curve makes true."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 6, (documents, 3)) + (0 if seen else 6)
    z = rng.normal(0, 3, labels.shape)
    ids = torch.from_numpy(np.where(labels < 6, labels, -1))
    calibration = Calibration(RATES, FREQUENCIES, curve, curve)
    p = calibration(torch.from_numpy(z), ids).sigmoid().numpy()
    return Pairs(z, labels.astype(np.int32), rng.random(p.shape) < p, np.ones(documents, int))


NONE = drawn(0, TRUE, seen=False)


def test_the_curve_is_the_one_that_made_the_pairs():
    other = Curve(0.5, 1.2, 0.9)
    pairs = drawn(20_000, TRUE, True), drawn(20_000, other, False)
    found = fit_calibration(*pairs, RATES, FREQUENCIES)
    np.testing.assert_allclose(found.seen, TRUE, atol=0.1)
    np.testing.assert_allclose(found.unseen, other, atol=0.1)


def test_the_formula_is_that_of_the_beta_calibration():
    p = torch.tensor([[0.2, 0.7, 0.99]], dtype=torch.double)
    found = Calibration(torch.zeros(1), [7], TRUE)(p.logit(), torch.zeros(3, dtype=torch.long))
    c, a, b, d = TRUE
    expected = c + a * p.log() - b * (1 - p).log() + d * np.log(7)
    torch.testing.assert_close(found, expected)


def test_training_in_16_bits_calibrates_in_float32():
    """There such numbers are PyTorch's default."""
    found = Calibration(RATES, FREQUENCIES, TRUE, Curve(0.5, 1.23456, 0.98765))
    given = torch.randn(3, 6), torch.tensor([0, 1, 5, -1, -1, 2])
    expected = found(*given)
    torch.set_default_dtype(torch.bfloat16)
    try:
        assert found(*given).equal(expected)
    finally:
        torch.set_default_dtype(torch.float)


def test_labels_of_the_same_frequency_keep_their_order():
    worst = Pairs(-np.eye(3), np.zeros((3, 3), np.int32), np.eye(3) > 0, np.ones(3, int))
    wrong = fit_calibration(worst, NONE, RATES, FREQUENCIES)  # the lowest are right
    z = torch.linspace(-20, 20, 400).unsqueeze(0)
    for label in (0, 5, -1):
        assert (wrong(z, torch.full((400,), label)).diff() > 0).all()


def test_without_unseen_labels_theirs_is_the_mean_curve_of_the_seen_ones():
    seen = drawn(500, TRUE, True)
    found = fit_calibration(seen, NONE, RATES, FREQUENCIES)
    mean = np.log(np.array(FREQUENCIES)[seen.labels]).mean()
    assert found.unseen.intercept == pytest.approx(
        found.seen.intercept + found.seen.frequency * mean
    )
    assert found.unseen[1:] == (found.seen.low, found.seen.high, 0)


def test_without_pairs_only_the_sampler_is_corrected():
    found = fit_calibration(drawn(0, TRUE, True), NONE, RATES, FREQUENCIES)
    z = torch.tensor([[1.0, 2.0]])
    torch.testing.assert_close(found(z, torch.tensor([3, -1])), z + np.log(0.5))


def test_documents_in_another_order_have_the_same_calibration():
    seen, unseen = drawn(300, TRUE, True), drawn(50, TRUE, False)
    order = np.random.default_rng(1).permutation(300)
    again = Pairs(*(part[order] for part in seen))
    one, other = (fit_calibration(x, unseen, RATES, FREQUENCIES) for x in (seen, again))
    assert (one.seen, one.unseen) == (other.seen, other.unseen)


def test_a_checkpoint_holds_it(tmp_path):
    made = fit_calibration(drawn(50, TRUE, True), NONE, RATES, FREQUENCIES)
    torch.save(made.state(), tmp_path / "state")  # without code
    state = torch.load(tmp_path / "state", weights_only=True)
    again = Calibration.from_state(state, FREQUENCIES)
    z, ids = torch.randn(4, 3), torch.tensor([0, 4, -1])
    assert torch.equal(again(z, ids), made(z, ids))


def test_a_model_that_is_trained_further_starts_at_its_curves():
    """Without documents it keeps them; ten documents move them less than from the beginning."""
    starts = Curve(-1.0, 0.8, 0.4, 0.2), Curve(0.5, 1.2, 0.9)
    found = fit_calibration(drawn(0, TRUE, True), NONE, RATES, FREQUENCIES, starts)
    assert (found.seen, found.unseen) == starts
    few = drawn(10, TRUE, True)
    kept = fit_calibration(few, NONE, RATES, FREQUENCIES, starts).seen
    fresh = fit_calibration(few, NONE, RATES, FREQUENCIES).seen
    assert np.abs(np.subtract(kept, TRUE)).sum() < np.abs(np.subtract(fresh, TRUE)).sum()


def test_the_gradient_is_that_of_finite_differences(monkeypatch):
    draw, checked = np.random.default_rng(2), []

    def minimize(loss, origin, **options):
        for _ in range(5):
            curve = origin + draw.normal(size=len(origin)) / 2
            steps = 1e-6 * np.eye(len(origin))
            slopes = [(loss(curve + step)[0] - loss(curve - step)[0]) / 2e-6 for step in steps]
            np.testing.assert_allclose(loss(curve)[1], slopes, rtol=1e-6, atol=1e-6)
            checked.append(curve)
        return scipy.optimize.OptimizeResult(x=origin)

    monkeypatch.setattr(scipy.optimize, "minimize", minimize)
    for_both = drawn(40, TRUE, seen=True), drawn(40, TRUE, seen=False)
    fit_calibration(*for_both, RATES, FREQUENCIES)
    assert len(checked) == 10
