"""What every sampler promises. A new sampler is one more entry of SAMPLERS."""

import pytest
import torch

from gile_lightning.sampling import AllLabels, SharedUniformLabels, UniformLabels

LABEL_COUNT = 10
SAMPLERS = [
    AllLabels(),
    UniformLabels(rate=0.3),
    UniformLabels(rate=1),
    UniformLabels(negatives=25),
    SharedUniformLabels(rate=0.3),
    SharedUniformLabels(rate=1),
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
    ids = torch.tensor([label for document in documents for label in document]).long()
    counts = torch.tensor([len(document) for document in documents])
    return sampler(ids, counts, LABEL_COUNT, torch.Generator().manual_seed(seed))


@every_sampler
@every_batch
def test_sample(sampler, documents):
    sample = draw(sampler, documents)
    labels = sample.labels.tolist()
    assert labels == sorted(set(labels))
    assert set(labels) <= set(range(LABEL_COUNT))
    assert sample.targets.shape == sample.weights.shape == (len(documents), len(labels))
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
        assert torch.equal(one, other)


@pytest.mark.parametrize("sampler", [UniformLabels(rate=0.3), SharedUniformLabels(rate=0.3)])
def test_another_state_gives_another_sample(sampler):
    samples = [draw(sampler, BATCHES["several documents"], seed) for seed in range(20)]
    assert len({(*s.labels.tolist(), *s.weights.flatten().tolist()) for s in samples}) > 10
