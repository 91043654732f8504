"""float32, TF32 and bfloat16 beside float64: the bounds that docs/devices.md states."""

import copy

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gile_lightning.training.samplers import LabelSample
from gile_testing.models import MODELS, NAME, model
from gile_testing.two_languages import DOCUMENTS, ragged

# errors of the loss, the scores and the gradients, relative to their norm
SINGLE, TF32, HALF = (1e-6, 1e-5, 1e-5), (0.001, 0.003, 0.01), (0.01, 0.03, 0.1)

aten = torch.ops.aten
FACTORS = {aten.mm: (0, 1), aten.bmm: (0, 1), aten.addmm: (1, 2), aten.baddbmm: (1, 2)}
"""The arguments of matrix products that are multiplied."""


class TensorFloat32(TorchDispatchMode):
    """Rounds the factors of matrix products to 11 bits, as NVIDIA's GPUs do with TF32."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        for place in FACTORS.get(operation.overloadpacket, ()):
            assert args[place].dtype == torch.float32
            args = (*args[:place], rounded(args[place]), *args[place + 1 :])
        return operation(*args, **kwargs or {})


def rounded(values):
    """Round float32 to the nearest number with 11 bits; 13 of its 24 go."""
    return ((values.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


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


def test_tf32(exact):
    made, wanted = exact
    with TensorFloat32():
        found = results(made)
    close(found, wanted, TF32)


def test_factors_of_products_are_rounded_forwards_and_backwards():
    x, y = (torch.rand(3, 3, generator=torch.Generator().manual_seed(i)) for i in (1, 2))
    x.requires_grad_()
    with TensorFloat32():
        product = x @ y
        product.backward(y)
    assert torch.equal(product, rounded(x.detach()) @ rounded(y))
    assert torch.equal(x.grad, rounded(y) @ rounded(y.T))
    assert not torch.equal(product, x @ y)


def test_rounding_to_11_bits():
    values = torch.tensor([1.0, 1 + 2**-10, 1 + 2**-11, 1 + 3 * 2**-12, -3.0000001, 0.1])
    expected = [1.0, 1 + 2**-10, 1 + 2**-10, 1 + 2**-10, -3.0, 1638 / 16384]
    assert rounded(values).tolist() == expected
