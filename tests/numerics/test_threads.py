"""Gradients are the same in every run, with several threads too."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gile_lightning import fit
from gile_testing import runs
from gile_testing.baseline_runs import arguments
from gile_testing.models import MODELS, NAME, model
from gile_testing.two_languages import DOCUMENTS, ragged

aten = torch.ops.aten
ADDING = {aten.index_put, aten.index_put_, aten._index_put_impl_}


class Atomic(TorchDispatchMode):
    """Collects the shapes of vectors to which threads of a CPU add numbers in no fixed order."""

    def __init__(self):
        super().__init__()
        self.shapes = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        adds = operation.overloadpacket in ADDING and len(args) > 3 and args[3]
        if adds and args[0].dim() == 1 and args[0].is_floating_point():
            self.shapes.append(tuple(args[0].shape))
        return operation(*args, **kwargs or {})


def test_what_is_looked_for():
    values = torch.ones(3, requires_grad=True)
    with Atomic() as found:
        values[torch.tensor([0, 0])].sum().backward()
        values.index_select(0, torch.tensor([0, 0])).sum().backward()
    assert found.shapes == [(3,)]


@pytest.mark.parametrize("name", MODELS)
def test_no_gradient_is_added_up_in_another_order(name):
    made = model(MODELS[name])
    with Atomic() as found:
        made.training_step({NAME: ragged(*DOCUMENTS[NAME][0])}, 0).backward()
    assert not found.shapes


@pytest.mark.parametrize("config", ["wsabie.yaml", "aitextml.yaml"])
def test_baselines_that_train_in_their_own_way(config, tmp_path):
    with Atomic() as found:
        done = runs.call(fit.main, *arguments(config, tmp_path / "run", "--trainer.max_epochs", 1))
    assert done.status is None, done.errors
    assert not found.shapes
