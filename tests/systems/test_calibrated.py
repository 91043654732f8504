"""Calibrated systems, with two hand-made languages."""

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from gile_lightning.metrics.table import ECE
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.calibrated import training_ids
from gile_lightning.systems.loading import restore
from gile_lightning.training.checkpoint import STATE, of_language
from gile_lightning.training.samplers import SharedUniformLabels
from gile_testing.two_languages import (
    DOCUMENTS,
    LABELS,
    PARTS,
    TwoLanguages,
    checkpoint_of,
    of_all_batches,
    run,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*does not have many workers")


def fitted(**more):
    torch.manual_seed(1)
    model = NeuralSystem(**PARTS, **more)
    run(model, TwoLanguages(), "fit", "test")
    return model


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_no_ranking_changes(model):
    without = fitted(calibrate=False).by_language
    for name, sets in model.by_language.items():
        for key in ("seen", "unseen", "all"):
            calibrated, other = dict(sets[key]), dict(without[name][key])
            for probabilities in (ECE, "macro_f1"):
                calibrated.pop(probabilities, None)
                other.pop(probabilities, None)
            np.testing.assert_equal(calibrated, other)


def test_f1_and_the_tuned_threshold_are_those_of_calibrated_probabilities(model):
    for name in DOCUMENTS:
        logits, targets = of_all_batches(model, name)
        ids = training_ids(LABELS[name])
        log_odds = model.calibrations.apply(name, torch.tensor(logits), ids)
        probabilities = log_odds.float().sigmoid().numpy()

        def f1(limits, probabilities=probabilities, targets=targets):
            return f1_score(targets, probabilities > limits, average="micro", zero_division=0)

        scores = model.by_language[name]["micro"]
        assert scores["f1"] == pytest.approx(f1(0.4))
        assert scores["tuned_f1"] == pytest.approx(max(f1(t / 100) for t in range(1, 100)))
        own = model.calibrations.limits(name, scores["tuned_threshold"], ids).numpy()
        assert scores["label_thresholds_f1"] == pytest.approx(f1(own))


def test_the_rate_of_the_sampler_is_corrected_for():
    model = fitted(sampler=SharedUniformLabels(rate=0.5))
    for name, labels in LABELS.items():
        rate = max(1, round(0.5 * labels.seen)) / labels.seen
        rates = model.calibrations.by_task[name].log_rates
        torch.testing.assert_close(rates, torch.full((labels.seen,), rate).log())


def test_a_checkpoint_holds_the_calibrations(model):
    checkpoint = checkpoint_of(model)
    loaded = NeuralSystem(**PARTS)
    restore(loaded, checkpoint)
    for name, labels in LABELS.items():
        log_odds, ids = torch.randn(3, len(labels)), training_ids(labels)
        expected = model.calibrations.apply(name, log_odds, ids)
        assert torch.equal(loaded.calibrations.apply(name, log_odds, ids), expected)
        assert not torch.equal(expected, log_odds)
        limits = (x.calibrations.limits(name, 0.5, ids) for x in (model, loaded))
        assert torch.equal(*limits)
    assert of_language(checkpoint, "german")[STATE]["calibrations"].keys() == {"german"}


def test_probabilities_of_a_calibrated_checkpoint_as_the_model_has_them(model):
    loaded = NeuralSystem(**PARTS, calibrate=False)
    restore(loaded, checkpoint_of(model))
    for name, labels in LABELS.items():
        log_odds = torch.randn(3, len(labels))
        found = loaded.calibrations.apply(name, log_odds, training_ids(labels))
        assert torch.equal(found, log_odds)
    assert not loaded.thresholds  # of calibrated probabilities
