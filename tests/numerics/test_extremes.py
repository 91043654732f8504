"""The smallest and the largest of everything: no number is lost, infinite or NaN."""

import math

import pytest
import torch

from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.metrics.ranking import rank_positives
from gile_lightning.metrics.table import DOCUMENT_METRICS
from gile_lightning.metrics.thresholded import MicroF1
from gile_lightning.training.losses import BinaryCrossEntropy, SoftmaxCrossEntropy
from gile_lightning.training.samplers import HardLabels
from gile_testing.models import MODELS, NAME, model
from gile_testing.two_languages import languages, ragged

LOSSES = [BinaryCrossEntropy(), SoftmaxCrossEntropy()]
TEXT = languages()[NAME].tokenizer
FIVE = LabelSet(list("abcde"), ["liver", "rat", "mouse rat", "kidney", "liver"], [2] * 5)
# labels, and documents as word ids and label ids
CASES = {
    "one of everything": (LabelSet(["a"], ["rat"], [1]), [[2]], [[0]]),
    "one label for all documents": (LabelSet(["a"], ["rat"], [2]), [[2], [0, 1]], [[0], [0]]),
    "every label": (FIVE, [[2, 1], [3]], [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]),
    "unknown words alone": (
        LabelSet(list("abc"), ["xyz", "uvw xyz", ""], [2, 1, 1]),
        [[4], [4, 4]],
        [[0, 1], [0, 2]],
    ),
    "an empty document": (FIVE, [[], [0]], [[0], [1, 2]]),
    "no labels": (FIVE, [[0], [1]], [[], []]),
}


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("size", [30.0, 1e4, 1e30])
def test_extreme_logits(loss, size):
    """Against float64; gradients are bounded, and right where a logit is right."""
    signs = torch.tensor([[1.0, -1, 1, -1], [-1, -1, -1, -1], [1, 1, 1, 1]])
    logits = (signs * size).requires_grad_()
    targets = torch.tensor([[1.0, 0, 0, 1], [1, 0, 0, 0], [1, 1, 1, 1]])
    weights = torch.tensor([[1.0, 3, 0, 1], [1, 1, 1, 2], [1, 1, 1, 1]])
    found = loss(logits, targets, weights)
    wanted = loss(logits.double(), targets.double(), weights.double())
    assert float(found.detach()) == pytest.approx(float(wanted.detach()), rel=1e-6)
    (gradient,) = torch.autograd.grad(found, logits)
    assert gradient.isfinite().all()
    assert gradient.abs().max() <= 1
    assert gradient[weights == 0].eq(0).all()
    odds = loss.log_odds(logits.detach())
    assert not odds.isnan().any()
    assert (odds.argsort(stable=True) == logits.argsort(stable=True)).all()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", MODELS)
def test_models(kind, case):
    labels, documents, positives = CASES[case]
    made = model(MODELS[kind], {NAME: Task(TEXT, labels)})
    batch = ragged(documents, positives)
    batch = batch._replace(words=batch.words.long(), label_ids=batch.label_ids.long())
    loss = made.training_step({NAME: batch}, 0)
    assert loss.isfinite()
    assert loss >= 0
    loss.backward()
    for name, parameter in made.named_parameters():
        if parameter.grad is not None:
            assert parameter.grad.to_dense().isfinite().all(), name
    with torch.no_grad():
        prepared = made.eval().prepare_labels(NAME, labels)
        scores = made.score(NAME, batch.texts, prepared)
    assert scores.shape == (len(documents), len(labels))
    assert scores.isfinite().all()


def test_unknown_words_make_labels_alike():
    """Labels whose words are all unknown are told apart by nothing but what is their own."""
    unknown = LabelSet(list("ab"), ["xyz", "uvw"], [0, 0])
    for kind in ("WAN, Dense", "Mean", "GILE", "LexicalMatch", "NameMention"):
        made = model(MODELS[kind]).eval()
        with torch.no_grad():
            prepared = made.prepare_labels(NAME, unknown)
            scores = made.score(NAME, ragged([[0, 1]], [[]]).texts, prepared)
        torch.testing.assert_close(scores[:, 0], scores[:, 1], rtol=0, atol=1e-6)


def test_metrics_of_one_label():
    """It is ranked first, whatever its score; without a positive nothing is measured."""
    ranks = rank_positives(torch.tensor([[-1e30], [3.0]]), torch.tensor([0]), torch.tensor([1, 0]))
    found = {metric.name: metric(ranks).tolist() for metric in DOCUMENT_METRICS}
    assert found["ranking_loss"][0] == found["one_error"][0] == 0
    assert found["average_precision"][0] == 1
    assert all(math.isnan(of_two[1]) for of_two in found.values())


def test_metrics_of_documents_with_every_label():
    ids, counts = torch.arange(5).repeat(2), torch.tensor([5, 5])
    scores = torch.tensor([[3.0, 1, -2, 0, 1e30], [0.0, 0, 0, 0, 0]])
    ranks = rank_positives(scores, ids, counts)
    found = {metric.name: metric(ranks).tolist() for metric in DOCUMENT_METRICS}
    assert found["ranking_loss"] == found["one_error"] == [0, 0]
    assert found["average_precision"] == [1, 1]


@pytest.mark.parametrize("positives", [[], [0]])
def test_f1_of_one_pair(positives):
    metric = MicroF1((0.5,))
    ids = torch.tensor(positives, dtype=torch.long)
    for logit in (1e30, -1e30):
        metric.update(torch.tensor([[logit]]), ids, torch.tensor([len(positives)]))
    found = metric.compute()
    hits = len(positives)  # the first document has the label, and gets it; the second does not
    assert {*found.precision.tolist()} == {hits}
    assert {*found.recall.tolist()} == {hits / 2}
    assert found.f1.tolist() == pytest.approx([2 / 3 * hits] * len(found.thresholds))


def test_hard_labels_of_a_document_with_every_label():
    sampler, generator = HardLabels(hard=2, random=1), torch.Generator().manual_seed(1)
    ids, counts = torch.arange(4), torch.tensor([4])
    sample = sampler(ids, counts, torch.ones(4), generator)
    sample = sampler.refine(sample, torch.full((1, 4), 1e30), generator)
    assert sample.weights.tolist() == [[1, 1, 1, 1]]
