"""WARP and the two systems that it trains, WSABIE+ and AiTextML, give the CPU's results."""

import copy

import pytest
import torch
from lightning.fabric.utilities import move_data_to_device

from gile_lightning.systems.baselines import AiTextML
from gile_lightning.systems.baselines.warp import warp_updates
from gile_testing.two_languages import DOCUMENTS, languages, ragged

pytestmark = pytest.mark.gpu
NAME = "english"
STEP = {"lr": 0.1, "margin": 0.3, "max_norm": 1.0, "weight_decay": 0.01}


@pytest.fixture
def drawn_on_the_host(monkeypatch):
    """Draws on the host what a device would draw otherwise."""

    def on_the_host(draw):
        return lambda *size, device=None, **options: draw(*size, **options).to(device or "cpu")

    for name in ("rand", "randint"):
        monkeypatch.setattr(torch, name, on_the_host(getattr(torch, name)))


def warp(device, generator):
    """Take a step with 300 labels, which few violate, so that some searches are long."""
    source = torch.Generator().manual_seed(1)
    documents, labels = torch.randn(60, 8, generator=source), torch.randn(300, 8, generator=source)
    mapping = torch.eye(8)
    best = (documents[:40] @ labels.T).topk(6).indices[:, ::2]
    rows, counts = torch.arange(40).flip(0), torch.full((40,), 3)
    tables = [x.clone().to(device) for x in (documents, labels, mapping)]
    positives = [x.to(device) for x in (rows, best.flip(0).flatten(), counts)]
    found = warp_updates(*tables, *positives, generator, **STEP)
    assert not torch.equal(tables[0].cpu(), documents)
    return [x.cpu() for x in tables], [x.cpu() for x in found]


@pytest.mark.usefixtures("drawn_on_the_host")
def test_a_step_of_warp(device):
    (tables, found), (others, theirs) = (
        warp(on, torch.Generator().manual_seed(3)) for on in ("cpu", device)
    )
    assert (found[-1] > 32).any()  # beyond the trials that are drawn one by one
    assert (found[-1] <= 32).any()
    torch.testing.assert_close(theirs, found, rtol=0, atol=0)
    torch.testing.assert_close(others, tables, rtol=1e-4, atol=1e-5)


def test_the_device_draws(device):
    """Other numbers than the host does, the same ones in every run."""
    found = [warp(device, torch.Generator(device).manual_seed(3)) for _ in range(2)]
    assert len(found[0][1][0])
    torch.testing.assert_close(found[1][1], found[0][1], rtol=0, atol=0)


@pytest.fixture(params=[0.0, 0.5], ids=["WSABIE+", "AiTextML"])
def model(request):
    torch.manual_seed(4)
    made = AiTextML(
        dim=8,
        lr=0.3,
        margin=1.0,  # which most pairs violate
        label_weight=request.param,
        subsampling=0.0,
        inference_iterations=3,
    )
    made.build({NAME: languages()[NAME]}, {"documents": {NAME: 4}})
    made.of(NAME).words.counts.copy_(torch.tensor([5, 4, 3, 2, 1]))
    return made


@pytest.mark.usefixtures("drawn_on_the_host")
def test_a_step_and_the_scores_after_it(model, device):
    before = copy.deepcopy(model.state_dict())
    documents = ragged(*DOCUMENTS[NAME][0])._replace(rows=torch.tensor([3, 1]))
    new, scores, counted = ragged(*DOCUMENTS[NAME][1]).texts, [], []
    there = copy.deepcopy(model).to(device)
    for made in (model, there):
        made.on_fit_start()
        batch, texts = move_data_to_device((documents, new), made.batch_device)
        counted.append(made._train(NAME, batch, torch.Generator().manual_seed(9)))
        labels = made.prepare_labels(NAME, made.tasks[NAME].labels)
        scores.append(made.score(NAME, texts, labels).cpu())
    assert counted[0] == counted[1] > 0
    changed = 0
    for key, value in model.state_dict().items():
        torch.testing.assert_close(there.state_dict()[key].cpu(), value, rtol=1e-4, atol=1e-5)
        changed += not torch.equal(value, before[key])
    assert changed >= 5  # documents, labels, the mapping, both vectors of words
    assert scores[0].std() > 0
    torch.testing.assert_close(scores[1], scores[0], rtol=1e-4, atol=1e-5)
