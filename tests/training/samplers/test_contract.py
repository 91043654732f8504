"""What every sampler promises. A new sampler is one more entry of SAMPLERS."""

from copy import copy
from dataclasses import FrozenInstanceError

import pytest
import torch

from gile_lightning.training.samplers import (
    AllLabels,
    HardLabels,
    LabelSample,
    LabelSampler,
    PopularLabels,
    SharedLabels,
    SharedUniformLabels,
    UniformLabels,
)
from gile_testing.draws import batch

LABEL_COUNT = 10
FREQUENCIES = torch.tensor([400, 90, 30, 9, 9, 4, 2, 1, 1, 1])
SAMPLERS = [
    AllLabels(),
    UniformLabels(rate=0.3),
    UniformLabels(rate=1),
    UniformLabels(negatives=25),
    SharedUniformLabels(rate=0.3),
    SharedUniformLabels(rate=1),
    SharedUniformLabels(rate=0.3, correction="importance"),
    SharedUniformLabels(rate=0.3, correction="log_q"),
    SharedUniformLabels(rate=1, most=2),
    PopularLabels(rate=0.3),
    PopularLabels(rate=0.9, most=4, correction="importance"),
    PopularLabels(rate=1, exponent=1),
    PopularLabels(rate=0.5, correction="importance"),
    PopularLabels(rate=0.5, correction="log_q", exponent=0),
    HardLabels(SharedUniformLabels(0.6), hard=2),
    HardLabels(UniformLabels(rate=0.5), hard=20, random=3),
    HardLabels(AllLabels(), hard=1, random=1),
]
BATCHES = {
    "several documents": [[3, 0], [7], [2, 9, 3]],
    "one document": [[4, 1]],
    "one without a label": [[], [1], []],
    "one with every label": [[4], [*range(LABEL_COUNT)]],
    "no label at all": [[], []],
}
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
every_batch = pytest.mark.parametrize("documents", BATCHES.values(), ids=BATCHES.keys())


def draw(sampler, documents, seed=0):
    ids, counts = batch(documents)
    generator = torch.Generator().manual_seed(seed)
    sample = sampler(ids, counts, FREQUENCIES, generator)
    logits = torch.arange(sample.targets.numel()).cos().view_as(sample.targets)
    return sampler.refine(sample, logits, generator)


@every_sampler
@every_batch
def test_sample(sampler, documents):
    sample = draw(sampler, documents)
    labels = sample.labels.tolist()
    assert labels == sorted(set(labels))
    assert set(labels) <= set(range(LABEL_COUNT))
    assert sample.targets.shape == sample.weights.shape == (len(documents), len(labels))
    assert sample.offsets is None or sample.offsets.shape == (len(labels),)
    assert all(part is None or part.isfinite().all() for part in sample)
    for document, targets, weights in zip(documents, sample.targets, sample.weights, strict=True):
        own = [label in document for label in labels]
        assert set(document) <= set(labels)
        assert targets.tolist() == own
        assert weights[torch.tensor(own, dtype=torch.bool)].eq(1).all()
        assert weights.ge(0).all()


@every_sampler
def test_depends_on_the_generator_alone(sampler):
    documents = BATCHES["several documents"]
    torch.manual_seed(1)
    first = draw(sampler, documents)
    torch.manual_seed(2)
    for one, other in zip(first, draw(sampler, documents), strict=True):
        assert one is other is None or torch.equal(one, other)


@pytest.mark.parametrize(
    "sampler",
    [
        UniformLabels(rate=0.3),
        SharedUniformLabels(rate=0.3),
        PopularLabels(rate=0.3, exponent=0),
        HardLabels(AllLabels(), hard=1, random=3),
    ],
    ids=str,
)
def test_another_state_gives_another_sample(sampler):
    samples = [draw(sampler, BATCHES["several documents"], seed) for seed in range(20)]
    assert len({(*s.labels.tolist(), *s.weights.flatten().tolist()) for s in samples}) > 10


@every_sampler
@every_batch
def test_targets_and_weights_are_made_on_the_device(sampler, documents):
    ids, counts = batch(documents)
    device = torch.device("meta")
    labels, *made = sampler.sample(ids, counts, FREQUENCIES, torch.Generator(), device)
    assert labels.device.type == "cpu"
    assert [part.device.type for part in made if part is not None] == ["meta"] * (
        2 if made[2] is None else 3
    )


def test_samplers_are_values():
    """One that is equal draws the same."""
    for sampler in SAMPLERS:
        same = copy(sampler)
        assert same == sampler
        assert len({same, sampler}) == 1
        with pytest.raises(FrozenInstanceError):
            sampler.scale = 2
        for one, other in zip(*(draw(s, [[3, 0], [7]]) for s in (same, sampler)), strict=True):
            assert one is other is None or torch.equal(one, other)


class Fixed(LabelSampler):
    """A sampler that does not ask for a device."""

    sampled = LabelSample(
        torch.tensor([2, 5]),
        torch.tensor([[1.0, 0.0]]),
        torch.tensor([[1.0, 3.0]]),
        torch.tensor([0.5, -0.5]),
    )

    def __init__(self, offsets=True):
        self.offsets = offsets

    def __call__(self, label_ids, label_counts, frequencies, generator):
        return self.sampled if self.offsets else self.sampled._replace(offsets=None)


@pytest.mark.parametrize("offsets", [True, False])
def test_a_sampler_without_a_device_is_sent_to_one(offsets):
    given = torch.tensor([2]), torch.tensor([1]), FREQUENCIES, torch.Generator()
    found = Fixed(offsets).sample(*given, torch.device("meta"))
    devices = [None if part is None else part.device.type for part in found]
    assert devices == ["cpu", "meta", "meta", "meta" if offsets else None]
    same = Fixed(offsets).sample(*given, torch.device("cpu"))
    for part, expected in zip(same, Fixed(offsets)(*given), strict=True):
        assert part is expected is None or torch.equal(part, expected)
    assert Fixed().negative_rates(FREQUENCIES, 2.0) is None


@pytest.mark.parametrize(
    ("kind", "complete"), [(LabelSampler, Fixed), (SharedLabels, SharedUniformLabels)]
)
def test_a_sampler_draws(kind, complete):
    with pytest.raises(TypeError, match="abstract"):
        kind()
    rates = complete().negative_rates(FREQUENCIES, 2.0)  # what it need not define
    assert rates is None or rates.tolist() == pytest.approx([0.1] * LABEL_COUNT)


@every_sampler
def test_a_label_that_is_not_seen(sampler):
    given = *batch([[3], [LABEL_COUNT]]), FREQUENCIES, torch.Generator(), torch.device("cpu")
    with pytest.raises(ValueError, match="has the label 10, but only the first 10 labels"):
        sampler.sample(*given)
