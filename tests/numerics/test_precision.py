"""float32 and bfloat16 beside float64: the bounds that docs/devices.md states."""

import copy

import pytest
import torch

from gile_lightning.training.samplers import LabelSample
from gile_testing.models import MODELS, NAME, model
from gile_testing.two_languages import DOCUMENTS, ragged

# errors of the loss, the scores and the gradients, relative to their norm
SINGLE, HALF = (1e-6, 1e-5, 1e-5), (0.01, 0.03, 0.1)


class Drawn:
    """Gives a sampler's draws, which are those of float32, to a model in float64."""

    def __init__(self, sampler):
        self.sampler = sampler

    def sample(self, *given):
        return self._double(lambda: self.sampler.sample(*given))

    def refine(self, sample, logits, generator):
        return self._double(lambda: self.sampler.refine(sample, logits, generator))

    @staticmethod
    def _double(draw):
        parts = (x if x is None or not x.is_floating_point() else x.double() for x in draw())
        return LabelSample(*parts)


def results(made, mixed=False):
    """Return the loss, the gradients and the scores of a model, in float64."""
    with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        loss = made.training_step({NAME: ragged(*DOCUMENTS[NAME][0])}, 0)
    loss.backward()
    named = {name: p.grad for name, p in made.named_parameters() if p.grad is not None}
    gradients = {name: gradient.to_dense().double() for name, gradient in named.items()}
    labels, documents = made.tasks[NAME].labels, ragged(*DOCUMENTS[NAME][1])
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        scores = made.eval().score(NAME, documents.texts, made.prepare_labels(NAME, labels))
    return loss, gradients, scores


@pytest.fixture(params=MODELS)
def exact(request):
    """A model, and what it computes in float64."""
    made = model(MODELS[request.param])
    double = copy.deepcopy(made).double()
    double.sampler = Drawn(made.sampler)
    return made, results(double)


def close(found, wanted, bounds):
    for ours, theirs, bound in zip(found[::2], wanted[::2], bounds, strict=False):
        assert ours.dtype == torch.float32
        assert (ours.double() - theirs).norm() <= bound * theirs.norm()
    size = max(gradient.norm() for gradient in wanted[1].values())
    for name, gradient in wanted[1].items():
        assert (found[1][name] - gradient).norm() <= bounds[2] * size, name


def test_single_precision(exact):
    made, wanted = exact
    close(results(made), wanted, SINGLE)


def test_mixed_precision(exact):
    """Losses and scores are float32; only what encoders and output layers multiply is rounded."""
    made, wanted = exact
    close(results(made, mixed=True), wanted, HALF)
