"""What a sampler's negatives do to logits, and its correction."""

import pytest
import torch

from gile_lightning.training import samplers

FREQUENCIES = torch.tensor([40, 20, 10, 6, 3, 1])
OWN = torch.tensor([[0], [1], [2], [0]])  # the labels of four documents, in batches of one
DRAWS = 3000


@pytest.mark.parametrize(
    "sampler",
    [
        samplers.AllLabels(),
        samplers.UniformLabels(negatives=2),
        samplers.UniformLabels(rate=0.5),
        samplers.SharedUniformLabels(rate=0.5),
        samplers.PopularLabels(rate=0.5),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_corrected_log_odds_are_those_of_all_labels(sampler):
    """A bias per label learns the log-odds of its targets, weighted as the loss weighs them."""
    totals = torch.zeros(2, 6, dtype=torch.double)
    generator = torch.Generator().manual_seed(0)
    for _ in range(DRAWS):
        for own in OWN:
            sample = sampler(own, torch.ones(1, dtype=torch.long), FREQUENCIES, generator)
            counted = (sample.weights * sample.targets)[0], (sample.weights - sample.targets)[0]
            for row, values in zip(totals, counted, strict=True):
                row.index_add_(0, sample.labels, values.double())
    learned = totals[0].log() - totals[1].log()
    corrected = learned + sampler.negative_rates(FREQUENCIES, 1.0).log()
    expected = torch.tensor([0.5, 0.25, 0.25, 0, 0, 0]).logit().double()
    torch.testing.assert_close(corrected[:3], expected[:3], rtol=0, atol=0.05)
    negatives = totals[1] / DRAWS / torch.tensor([2.0, 3, 3, 4, 4, 4])
    torch.testing.assert_close(
        negatives, sampler.negative_rates(FREQUENCIES, 1.0).double(), rtol=0, atol=0.03
    )


@pytest.mark.parametrize("correction", ["importance", "log_q"])
def test_what_corrects_itself_needs_no_correction(correction):
    sampler = samplers.PopularLabels(rate=0.5, correction=correction)
    assert sampler.negative_rates(FREQUENCIES, 1.0).tolist() == [1] * 6


@pytest.mark.parametrize(("labels", "rate"), [(3.5, 0.8), (5, 2), (6, 2)])
def test_uniform_negatives_are_of_the_labels_that_a_document_lacks(labels, rate):
    """One at least: a mean of all labels has no negatives, and any rate does."""
    rates = samplers.UniformLabels(negatives=2).negative_rates(FREQUENCIES, labels)
    assert rates.tolist() == pytest.approx([rate] * 6)


def test_the_rate_of_hard_negatives_is_not_known():
    assert samplers.HardLabels().negative_rates(FREQUENCIES, 1.0) is None
