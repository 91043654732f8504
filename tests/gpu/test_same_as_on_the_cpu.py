"""Encoders, output layers, samplers, losses, matchers and metrics give the CPU's results."""

import copy

import pytest
import torch

from gile_lightning.metrics.ranking import rank_positives
from gile_lightning.metrics.table import DOCUMENT_METRICS
from gile_lightning.metrics.thresholded import MicroF1
from gile_testing.models import MODELS, NAME, model
from gile_testing.two_languages import DOCUMENTS, ragged


@pytest.mark.parametrize("kind", MODELS)
def test_a_training_step(kind, device):
    here = model(MODELS[kind])
    there = copy.deepcopy(here).to(device)
    batch = ragged(*DOCUMENTS[NAME][0])
    losses = [made.training_step({NAME: batch}, 0) for made in (here, there)]
    for loss in losses:
        loss.backward()
    torch.testing.assert_close(losses[1].cpu(), losses[0], rtol=1e-5, atol=1e-6)
    for (name, ours), theirs in zip(here.named_parameters(), there.parameters(), strict=True):
        assert (ours.grad is None) == (theirs.grad is None), name
        if ours.grad is not None:
            found, expected = theirs.grad.to_dense().cpu(), ours.grad.to_dense()
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", MODELS)
def test_scores(kind, device):
    here = model(MODELS[kind]).eval()
    there = copy.deepcopy(here).to(device)
    labels, batch = here.tasks[NAME].labels, ragged(*DOCUMENTS[NAME][1])
    with torch.no_grad():
        found = [
            made.score(NAME, batch.texts, made.prepare_labels(NAME, labels)).cpu()
            for made in (here, there)
        ]
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def test_metrics(device):
    scores = torch.randn(50, 300, generator=torch.Generator().manual_seed(1)).mul(4).round()
    counts = torch.arange(50) % 7
    ids = torch.cat([torch.arange(int(n)) * 11 for n in counts])
    here, there = (rank_positives(scores.to(on), ids, counts) for on in ("cpu", device))
    torch.testing.assert_close(there.position.cpu(), here.position, rtol=0, atol=0)
    for metric in DOCUMENT_METRICS:
        torch.testing.assert_close(metric(there).cpu(), metric(here), equal_nan=True)
    totals = []
    for on in ("cpu", device):
        metric = MicroF1().to(on)
        metric.update(scores.to(on), ids, counts)
        totals.append(metric.totals.cpu())
    torch.testing.assert_close(totals[1], totals[0], rtol=0, atol=0)
