"""What a device computes, held against what the CPU does."""

import copy

import torch

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.metrics import LabelF1, MicroF1, RankingMetrics, inverse_propensities
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.weights import fit_ridge
from gile_testing.models import NAME

LABELS = 300
FREQUENCIES = [1 + 1000 // (i + 1) for i in range(LABELS)]
METRICS = {  # that sum over documents
    "RankingMetrics": lambda: RankingMetrics(
        labels=LABELS, inverse_propensities=inverse_propensities(FREQUENCIES, 2000), nam16=True
    ),
    "MicroF1": MicroF1,
    "LabelF1": lambda: LabelF1(LABELS, 0.3),
}


def compare_steps(here: NeuralSystem, batch: RaggedBatch, device: torch.device) -> None:
    """Compare losses and gradients of a training step."""
    fit_ridge(here.network(NAME), [batch])  # on the host, as training does
    there = copy.deepcopy(here).to(device)
    losses = [made.training_step({NAME: batch}, 0) for made in (here, there)]
    for loss in losses:
        loss.backward()
    torch.testing.assert_close(losses[1].cpu(), losses[0], rtol=1e-5, atol=1e-6)
    changes = 0
    for (name, ours), theirs in zip(here.named_parameters(), there.parameters(), strict=True):
        assert (ours.grad is None) == (theirs.grad is None), name
        if ours.grad is not None:
            found, expected = theirs.grad.to_dense().cpu(), ours.grad.to_dense()
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
            changes += int(expected.count_nonzero())
    assert changes


def compare_scores(
    here: NeuralSystem, learned: RaggedBatch, batch: RaggedBatch, device: torch.device
) -> None:
    """Compare the logits of all labels, seen and unseen.

    Args:
        here: the model.
        learned: training documents, for a ridge regression.
        batch: other documents.
        device: to compare with the CPU.
    """
    fit_ridge(here.network(NAME), [learned])
    there = copy.deepcopy(here.eval()).to(device)
    labels = here.tasks[NAME].labels
    with torch.no_grad():
        found = [
            made.score(NAME, batch.texts, made.prepare_labels(NAME, labels)).cpu()
            for made in (here, there)
        ]
    assert found[0].std() > 0
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def compare_explanations(
    here: NeuralSystem, learned: RaggedBatch, batch: RaggedBatch, device: torch.device
) -> None:
    """Compare what the parts of a model, and the words of a document, add to the logits.

    The document lies on the host, as in `predict`, and on the device.

    The arguments are those of `compare_scores`.
    """
    fit_ridge(here.network(NAME), [learned])
    there = copy.deepcopy(here.eval()).to(device)
    labels, found = here.tasks[NAME].labels, []
    for made, texts in ((here, batch.texts), (there, batch.texts), (there, batch.texts.to(device))):
        prepared = made.prepare_labels(NAME, labels)
        given = NAME, texts, prepared, torch.arange(len(prepared))
        evidence = made.evidence(*given)
        found.append((made.contributions(*given), evidence.words, evidence.mentions))
    for other in found[1:]:
        for ours, theirs in zip(found[0], other, strict=True):
            assert ours.keys() == theirs.keys()
            for part, expected in ours.items():
                if isinstance(expected, torch.Tensor):
                    torch.testing.assert_close(theirs[part].cpu(), expected, rtol=1e-4, atol=1e-5)
                else:
                    assert theirs[part] == expected
