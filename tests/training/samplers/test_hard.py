from dataclasses import dataclass

import numpy as np
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.training.samplers import (
    AllLabels,
    HardLabels,
    LabelSample,
    PopularLabels,
    SharedUniformLabels,
    UniformLabels,
)

LABELS = 8
DOCUMENTS = [[3, 0], [], [*range(LABELS)], [6]]


@dataclass(frozen=True)
class Weighted(AllLabels):
    """A pool of somebody else, with a correction of its own."""

    correction: str = "weighted"


def draw(sampler, seed=0):
    ids = torch.tensor([label for document in DOCUMENTS for label in document])
    counts = torch.tensor([len(document) for document in DOCUMENTS])
    generator = torch.Generator().manual_seed(seed)
    sample = sampler(ids, counts, torch.ones(LABELS).long(), generator)
    logits = torch.randn(sample.targets.shape, generator=torch.Generator().manual_seed(seed + 99))
    return sample, logits, sampler.refine(sample, logits, generator)


def test_training_in_16_bits_draws_the_same():
    """There such numbers are PyTorch's default, and many of them equal."""
    sample = LabelSample(torch.arange(5_000), torch.zeros(1, 5_000), torch.ones(1, 5_000))
    logits, found = torch.zeros(1, 5_000), []
    for dtype in (torch.float, torch.bfloat16):
        generator = torch.Generator().manual_seed(3)
        torch.set_default_dtype(dtype)
        try:
            refined = HardLabels(AllLabels(), hard=1, random=100).refine(sample, logits, generator)
        finally:
            torch.set_default_dtype(torch.float)
        found.append(refined.weights)
    assert found[0].sum() == 101
    assert found[0].equal(found[1])


def test_by_hand():
    """Pair (0, 2) is not in the pool, pair (1, 3) is there twice."""
    sample = LabelSample(
        torch.tensor([1, 4, 5, 9]),
        torch.tensor([[1.0, 0, 0, 0], [0, 0, 0, 0]]),
        torch.tensor([[1.0, 1, 0, 1], [1, 1, 1, 2]]),
    )
    logits = torch.tensor([[-5.0, 0.1, 7, 0.3], [-1, -4, -3, -2]])
    refine = HardLabels(hard=1).refine
    weights = refine(sample, logits, torch.Generator()).weights
    assert weights.tolist() == [[1, 0, 0, 1], [1, 0, 0, 0]]
    weights = HardLabels(hard=2).refine(sample, logits, torch.Generator()).weights
    assert weights.tolist() == [[1, 1, 0, 1], [1, 0, 0, 2]]


@pytest.mark.parametrize("hard", [1, 3, 100])
@pytest.mark.parametrize(
    "pool",
    [AllLabels(), SharedUniformLabels(0.5), UniformLabels(negatives=9), HardLabels(AllLabels(), 4)],
)
def test_highest_negatives_are_kept(pool, hard):
    sample, logits, refined = draw(HardLabels(pool, hard))
    limit = min(hard, getattr(pool, "hard", hard))
    assert torch.equal(refined.labels, sample.labels)
    assert torch.equal(refined.targets, sample.targets)
    for targets, scores, before, weights in zip(
        *(part.numpy() for part in (sample.targets, logits, sample.weights, refined.weights)),
        strict=True,
    ):
        negatives = np.flatnonzero((targets == 0) & (before > 0))
        best = negatives[np.argsort(-scores[negatives])][:limit]
        kept = np.isin(np.arange(len(targets)), [*np.flatnonzero(targets), *best])
        assert (weights == before * kept).all()


def test_random_negatives_are_from_the_rest_and_uniform():
    sampler, repeats = HardLabels(AllLabels(), hard=2, random=2), 600
    counts = torch.zeros(len(DOCUMENTS), LABELS)
    sample, logits, _ = draw(sampler)
    for seed in range(repeats):
        counts += sampler.refine(sample, logits, torch.Generator().manual_seed(seed)).weights
    for targets, scores, kept in zip(sample.targets, logits, counts / repeats, strict=True):
        negatives = [k for k in scores.argsort(descending=True).tolist() if not targets[k]]
        assert kept[targets > 0].eq(1).all()
        assert kept[negatives[:2]].eq(1).all()
        if rest := negatives[2:]:
            share = 2 / len(rest)
            deviation = (share * (1 - share) / repeats) ** 0.5
            assert kept[rest].sub(share).abs().max() < 5 * deviation


def test_ten_of_a_tenth_of_the_labels_by_default():
    counts = torch.zeros(1, dtype=torch.long)
    sampler, frequencies = HardLabels(), torch.ones(200).long()
    sample = sampler(counts[:0], counts, frequencies, torch.Generator())
    assert sample.weights.tolist() == [[1] * 20]
    logits = torch.arange(20.0).unsqueeze(0)
    kept = sampler.refine(sample, logits, torch.Generator()).weights
    assert kept.tolist() == [[0] * 10 + [1] * 10]


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"hard": 0}, "above 0: hard is 0"),
        ({"random": -1}, "random is -1"),
        ({"pool": PopularLabels(correction="log_q")}, "correction of the pool: .* leave it out"),
        ({"pool": Weighted()}, "correction of the pool: .* leave it out"),
    ],
)
def test_settings_that_are_refused(settings, error):
    with pytest.raises(InputError, match=error):
        HardLabels(**settings)
