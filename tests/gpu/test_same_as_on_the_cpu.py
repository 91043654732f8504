"""Encoders, output layers, samplers, losses, matchers and metrics give the CPU's results.

A test of `test_completeness.py` needs no GPU, and tells which of them are missing.
"""

import pytest
import torch

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.metrics.evaluation import Evaluation
from gile_lightning.metrics.ranking import rank_positives
from gile_lightning.metrics.table import DOCUMENT_METRICS, NAM16
from gile_testing.models import MODELS, NAME, model
from gile_testing.on_devices import (
    FREQUENCIES,
    LABELS,
    METRICS,
    compare_explanations,
    compare_scores,
    compare_steps,
)
from gile_testing.two_languages import DOCUMENTS, ragged

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("kind", MODELS)
def test_a_training_step(kind, device):
    compare_steps(model(MODELS[kind]), ragged(*DOCUMENTS[NAME][0]), device)


@pytest.mark.parametrize("kind", MODELS)
def test_scores(kind, device):
    batches = [ragged(*documents) for documents in DOCUMENTS[NAME]]
    compare_scores(model(MODELS[kind]), *batches, device)


@pytest.mark.parametrize("kind", MODELS)
def test_explanations(kind, device):
    documents = [DOCUMENTS[NAME][0], [rows[:1] for rows in DOCUMENTS[NAME][1]]]
    compare_explanations(model(MODELS[kind]), *(ragged(*some) for some in documents), device)


@pytest.fixture
def ranked():
    """Scores with ties, and positives: of some documents none."""
    scores = torch.randn(50, LABELS, generator=torch.Generator().manual_seed(1)).mul(4).round()
    counts = torch.arange(50) % 7
    return scores, torch.cat([torch.arange(int(n)) * 11 for n in counts]), counts


@pytest.mark.parametrize("metric", [*DOCUMENT_METRICS, *NAM16], ids=lambda metric: metric.name)
def test_metrics_of_documents(metric, ranked, device):
    scores, *positives = ranked
    here, there = (rank_positives(scores.to(on), *positives) for on in ("cpu", device))
    torch.testing.assert_close(there.position.cpu(), here.position, rtol=0, atol=0)
    assert len(metric(here).unique()) > 2 or "one_error" in metric.name
    torch.testing.assert_close(metric(there).cpu(), metric(here), equal_nan=True)


def sums(metric):
    """Return what a metric has summed up, and what it makes of it."""
    states = [getattr(metric, name).cpu() for name in metric._defaults]
    computed = metric.compute()
    if isinstance(computed, tuple):
        computed = computed._asdict()
    return states, computed


@pytest.mark.parametrize("kind", METRICS)
def test_metrics(kind, ranked, device):
    scores, *positives = ranked
    found = []
    for on in ("cpu", device):
        metric = METRICS[kind]().to(on)
        for _ in range(2):
            metric.update(scores.to(on), *positives)
        found.append(sums(metric))
    (here, expected), (there, computed) = found
    assert all(state.any() for state in here)
    torch.testing.assert_close(there, here)
    if isinstance(expected, dict):
        assert computed.keys() == expected.keys()
        pairs = ((computed[key], value) for key, value in expected.items())
    else:
        pairs = [(computed, expected)]
    for one, other in pairs:
        one, other = (torch.as_tensor(x).cpu() for x in (one, other))
        torch.testing.assert_close(one, other, equal_nan=True)


def test_all_metrics_of_a_test(ranked, device):
    scores, ids, counts = ranked
    names, seen = [f"label {i}" for i in range(LABELS)], LABELS - 40
    labels = LabelSet(names, names, [*FREQUENCIES[:seen], *[0] * 40], documents=2000)
    words = torch.arange(len(counts), dtype=torch.int32)
    batch = RaggedBatch(words, *[torch.ones(len(counts), dtype=torch.long)] * 2, ids, counts)
    found = []
    for on in ("cpu", device):
        evaluation = Evaluation(labels, True, nam16=True, keep=True).to(on)
        # as steps of float32 do: no two scores are alike, so that the best labels are the same
        spread = scores + torch.linspace(0, 0.5, LABELS)
        evaluation.update(spread.to(on), batch)
        best = [pairs.compute() for pairs in evaluation.best.values()]
        terms = evaluation.documents().terms
        found.append((evaluation.compute(), best, terms))
    (results, best, terms), (other_results, other_best, other_terms) = found
    assert results["seen"]["psp_at_5"] > 0
    assert results["seen"]["macro_f1"] > 0
    for key, scores_of_set in results.items():
        assert other_results[key] == pytest.approx(scores_of_set, nan_ok=True), key
    for one, other in zip(best, other_best, strict=True):
        assert (one.labels == other.labels).all()
        assert (one.correct == other.correct).all()
    torch.testing.assert_close(other_terms, terms, equal_nan=True)
