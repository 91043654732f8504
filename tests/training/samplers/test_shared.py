"""What corrects for a sample of labels: expectations over all draws, enumerated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import pytest
import torch
import torch.nn.functional as F

from gile_lightning.common.errors import InputError
from gile_lightning.training.losses import BinaryCrossEntropy, SoftmaxCrossEntropy
from gile_lightning.training.samplers import SharedLabels, SharedUniformLabels

LABELS = 6
# sets of drawn labels and their probabilities, which sum to 1
PAIRS = {(0, 1): 0.35, (2, 3): 0.2, (0, 2): 0.1, (1, 5): 0.15, (3, 4): 0.05, (4, 5): 0.15}
EQUAL = dict.fromkeys(combinations(range(LABELS), 3), 1 / 20)


@dataclass(frozen=True)
class Fixed(SharedLabels):
    """A draw that is known beforehand, of a design that gives labels these probabilities."""

    drawn: Sequence[int] = ()
    probabilities: Sequence[float] = ()

    def draw(self, count, frequencies, generator):
        return torch.tensor(self.drawn).long(), torch.tensor(self.probabilities)


def batch(documents):
    ids = torch.tensor([label for document in documents for label in document]).long()
    return ids, torch.tensor([len(document) for document in documents])


def inclusion(design):
    """How often each label is drawn."""
    return [sum(p for drawn, p in design.items() if k in drawn) for k in range(LABELS)]


def samples(design, documents, correction):
    """All samples of a design, with their probabilities."""
    given = *batch(documents), torch.ones(LABELS).long(), torch.Generator()
    for drawn, probability in design.items():
        sampler = Fixed(correction=correction, drawn=drawn, probabilities=inclusion(design))
        yield sampler(*given), probability


def scores(documents):
    generator = torch.Generator().manual_seed(4)
    logits = torch.randn(documents, LABELS, dtype=torch.double, generator=generator) * 2
    return logits.requires_grad_()


@pytest.mark.parametrize(
    ("correction", "weights"),
    [
        # 1 / 0.25 and 1 / 1, and 1 / 0.5 too, in proportion to the number of labels lacked
        ("importance", [[1, 1, 16 / 5, 4 / 5, 0], [0, 10 / 7, 20 / 7, 5 / 7, 1]]),
        ("log_q", [[1, 1, 1, 1, 0], [0, 1, 1, 1, 1]]),
    ],
)
def test_by_hand(correction, weights):
    """Label 4 is in the sample for the second document alone."""
    probabilities = (0.5, 0.5, 0.25, 1, 0.1, 0.65)
    sampler = Fixed(correction=correction, drawn=(3, 1, 2), probabilities=probabilities)
    sample = sampler(*batch([[0, 1], [4]]), torch.ones(LABELS).long(), torch.Generator())
    assert sample.labels.tolist() == [0, 1, 2, 3, 4]
    assert sample.weights.tolist() == [pytest.approx(row) for row in weights]
    if correction == "log_q":
        assert sample.offsets.tolist() == pytest.approx([math.log(p) for p in probabilities[:5]])
    else:
        assert sample.offsets is None


def test_importance_weights_of_a_uniform_draw_are_unbiased():
    """The expected loss and gradient are those over all labels."""
    documents = [[3, 0], [], [5]]
    logits = scores(len(documents))
    expected = torch.zeros((), dtype=torch.double)
    for sample, probability in samples(EQUAL, documents, "importance"):
        assert sample.weights.sum(1).tolist() == pytest.approx([LABELS] * 3)
        some = logits[:, sample.labels]
        loss = BinaryCrossEntropy()(some, sample.targets.double(), sample.weights.double())
        expected = expected + probability * loss
    targets = torch.zeros_like(logits)
    targets[[0, 0, 2], [3, 0, 5]] = 1
    loss = F.binary_cross_entropy_with_logits(logits, targets)
    torch.testing.assert_close(expected, loss, rtol=1e-6, atol=0)  # weights are float32
    found, wanted = (torch.autograd.grad(part, logits)[0] for part in (expected, loss))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("design", [EQUAL, PAIRS], ids=["uniform", "other"])
def test_log_q_makes_true_logits_the_best_for_binary_cross_entropy(design):
    """At the logits of the labels' probabilities the expected gradient of all pairs is 0.

    The expectation is over draws and over the document's labels; another document has label 2.
    """
    logits = scores(1)
    truth = logits[0].sigmoid().tolist()
    total, uncorrected = torch.zeros(2, LABELS, dtype=torch.double)
    for has in product([0, 1], repeat=LABELS):
        chance = math.prod(p if y else 1 - p for p, y in zip(truth, has, strict=True))
        document = [k for k in range(LABELS) if has[k]]
        for sample, probability in samples(design, [document, [2]], "log_q"):
            for gradient, offsets in ((total, sample.offsets), (uncorrected, 0)):
                some = logits[0, sample.labels] - offsets
                losses = F.binary_cross_entropy_with_logits(
                    some, sample.targets[0].double(), sample.weights[0].double(), reduction="sum"
                )
                gradient += chance * probability * torch.autograd.grad(losses, logits)[0][0]
    assert total.tolist() == pytest.approx([0] * LABELS, abs=1e-7)
    assert uncorrected.abs().max() > 0.05


def test_log_q_makes_true_logits_the_best_for_softmax():
    """Where labels are drawn independently, a document's label is as likely as the softmax says."""
    logits = scores(1)
    chances = (0.3, 0.8, 0.5, 0.1, 0.6, 0.4)
    design = {
        drawn: math.prod(p if k in drawn else 1 - p for k, p in enumerate(chances))
        for size in range(LABELS + 1)
        for drawn in combinations(range(LABELS), size)
    }
    total, uncorrected = torch.zeros(2, LABELS, dtype=torch.double)
    for label, chance in enumerate(logits[0].softmax(0).tolist()):
        for sample, probability in samples(design, [[label], [2]], "log_q"):
            for gradient, offsets in ((total, sample.offsets), (uncorrected, 0)):
                some = logits[:, sample.labels] - offsets
                loss = SoftmaxCrossEntropy()(some, sample.targets[:1], sample.weights[:1])
                gradient += chance * probability * torch.autograd.grad(loss, logits)[0][0]
    assert total.tolist() == pytest.approx([0] * LABELS, abs=1e-7)
    assert uncorrected.abs().max() > 0.01


@pytest.mark.parametrize("correction", ["q", None])
def test_unknown_correction(correction):
    with pytest.raises(InputError, match=f"{correction!r}: give one of none, importance, log_q"):
        SharedUniformLabels(correction=correction)
