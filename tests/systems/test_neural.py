"""Training steps, sharing and settings of neural systems, with two hand-made languages."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import f1_score
from torch import nn

from gile_lightning.common.errors import InputError
from gile_lightning.data import BioASQ
from gile_lightning.data.loading.prefetch import PrefetchLoader
from gile_lightning.network.encoders import IdfMean, Mean, WordEmbedding
from gile_lightning.network.label_residual import LabelResidual
from gile_lightning.network.matchers import LexicalMatch, NameMention
from gile_lightning.network.outputs import GILE, Linear, MatchersOnly
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.predictor import Predictor
from gile_lightning.training.losses import SoftmaxCrossEntropy
from gile_lightning.training.samplers import AllLabels
from gile_testing import runs
from gile_testing.two_languages import (
    DOCUMENTS,
    HIERARCHICAL,
    LABELS,
    PARTS,
    WORDS,
    TwoLanguages,
    languages,
    logits,
    of_all_batches,
    run,
)

# batches that are there already need no workers
pytestmark = pytest.mark.filterwarnings("ignore:.*does not have many workers")


@dataclass(frozen=True)
class Probe(AllLabels):
    """All labels, with log frequencies as offsets; only pairs with a score below 0 count."""

    def __call__(self, label_ids, label_counts, frequencies, generator):
        sample = super().__call__(label_ids, label_counts, frequencies, generator)
        return sample._replace(offsets=frequencies.log())

    def refine(self, sample, logits, generator):
        assert not logits.requires_grad
        torch.rand(1, generator=generator)
        return sample._replace(weights=(logits < 0).float())


def test_loss_is_the_mean_over_languages_of_what_the_sampler_chooses():
    model, data = NeuralSystem(**PARTS, sampler=Probe()), TwoLanguages()
    logged = run(model, data, "fit")
    losses, scored = [], 0
    for name, batches in DOCUMENTS.items():
        words, labels = batches[0]
        frequencies = [n for n in LABELS[name].frequencies if n]
        targets = torch.tensor(runs.positives(labels, list(range(len(frequencies))))).float()
        scores = logits(model, name, words)[:, : len(frequencies)]
        chosen = scores < 0
        scored += int(chosen.sum())
        pairs = F.binary_cross_entropy_with_logits(
            scores - torch.tensor(frequencies).log(), targets, chosen.float(), reduction="none"
        )
        losses.append(float((pairs.sum(1) / chosen.sum(1).clamp(min=1)).mean()))
    assert 0 < scored < 2 * (3 + 2)
    assert losses[0] != pytest.approx(losses[1], rel=1e-3)
    assert logged["train/loss"] == pytest.approx(np.mean(losses), rel=1e-5)


def test_softmax_in_training_metrics_and_prediction():
    """Probabilities are the softmax over all labels; the ranking is that of the logits."""
    parts = PARTS | {"sampler": AllLabels(), "threshold": 0.21, "calibrate": False}
    plain, model = NeuralSystem(**parts), NeuralSystem(**parts, loss=SoftmaxCrossEntropy())
    data = TwoLanguages({"english": languages()["english"]})
    logged = run(model, data, "fit")
    run(plain, data, "fit", "test")
    run(model, data, "test")
    words, labels = DOCUMENTS["english"][0]
    targets = torch.tensor(runs.positives(labels, [0, 1, 2])).float()
    expected = F.cross_entropy(
        logits(model, "english", words)[:, :3], targets / targets.sum(1, keepdim=True)
    )
    assert logged["train/loss"] == pytest.approx(float(expected), rel=1e-5)
    scores, targets = of_all_batches(model, "english")
    probabilities = torch.from_numpy(scores).softmax(1)
    predicted = probabilities > 0.21
    assert 0 < predicted.sum() < predicted.numel()
    micro = model.by_language["english"]["micro"]
    assert micro["f1"] == pytest.approx(f1_score(targets, predicted, average="micro"))
    assert micro["f1"] != plain.by_language["english"]["micro"]["f1"]
    for key in ("ranking_loss", "average_precision", "one_error"):
        assert model.results["all"][key] == pytest.approx(plain.results["all"][key])
    texts = [" ".join(WORDS["english"][i] for i in ids) for ids in words]
    names = LABELS["english"].names
    for found, row in zip(Predictor(model).predict(texts), probabilities, strict=False):
        by_name = {label["name"]: label["score"] for label in found}
        assert [by_name[name] for name in names] == pytest.approx(row.tolist(), rel=1e-5)


@pytest.mark.parametrize("sharing", ["none", "both"])
def test_losses_added_up(sharing):
    """The sum over languages is their number times the mean, which is the paper's."""
    losses = {}
    for kind in ("mean", "sum"):
        parts = HIERARCHICAL | {"sampler": AllLabels(), "sharing": sharing}
        losses[kind] = run(NeuralSystem(**parts, language_loss=kind), TwoLanguages(), "fit")
    assert losses["sum"]["train/loss"] == pytest.approx(2 * losses["mean"]["train/loss"], rel=1e-6)


# --- sharing ---


def test_label_encoders_with_parameters_share_what_encoders_share():
    parts = PARTS | {"label_encoder": PARTS["encoder"]}
    model = NeuralSystem(**parts, sharing="attention")
    model.build(languages())
    first, second = (model.network(name).label_encoder for name in languages())
    assert first.pooling is second.pooling
    assert first.layer is not second.layer
    assert first.pooling is not model.network("english").encoder.pooling


def test_sharing_what_an_encoder_has_not():
    model = NeuralSystem(**PARTS | {"encoder": Mean}, sharing="attention")
    with pytest.raises(InputError, match=r"Mean has no attention to share"):
        model.check(languages())
    model.check()  # one language has nobody to share with


# --- new models ---


def test_linear_weights_start_as_in_the_authors_code():
    model = NeuralSystem(**PARTS)
    model.build(languages())
    linear = [m for m in model.modules() if isinstance(m, nn.Linear)]
    # per language 3 in the encoder and one unit; two projections to the joint space for both
    assert len(linear) == 2 * 4 + 2
    for layer in linear:
        limit = (6 / sum(layer.weight.shape)) ** 0.5  # Glorot and Bengio (2010)
        assert layer.weight.abs().max() <= limit
        assert layer.weight.abs().max() > 0.3 * limit
        assert not layer.bias.any()


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"embedding": partial(WordEmbedding, dim=0)}, "dim is 0"),
        ({"embedding": partial(WordEmbedding, vectors=Path("none.txt"))}, "none.txt: no such file"),
        ({"output": partial(GILE, joint_dim=-1)}, "joint_dim is -1"),
        ({"optimizer": partial(torch.optim.SGD, lr=-1.0)}, r"model\.optimizer: Invalid learning"),
        ({"output": MatchersOnly}, r"set model\.matchers or model\.label_residual"),
        ({"matchers": [partial(LexicalMatch, stemmer="englisch")]}, "did you mean 'english'"),
        ({"matchers": [partial(NameMention, stemmer="x")]}, "there is no stemmer 'x'; there are"),
        ({"label_residual": partial(LabelResidual, dropout=1.5)}, "dropout is 1.5"),
        ({"dropout": 1.0}, r"model\.dropout is 1: a share from 0 to below 1"),
        ({"label_dropout": -0.1}, r"model\.label_dropout is -0\.1: a share from 0 to below 1"),
    ],
)
def test_check_finds_what_cannot_be_made(parts, error):
    with pytest.raises(InputError, match=error):
        NeuralSystem(**PARTS | parts).check()


def test_check_leaves_no_trace():
    matching = {"matchers": [LexicalMatch, NameMention], "label_residual": LabelResidual}
    model = NeuralSystem(**PARTS | matching | {"output": MatchersOnly})
    torch.manual_seed(1)
    before = torch.get_rng_state()
    model.check(DOCUMENTS)
    assert torch.equal(torch.get_rng_state(), before)
    assert not list(model.parameters())


@pytest.mark.parametrize(
    ("place", "precision", "ahead"),
    [
        ("cuda:0", "32-true", True),
        ("cuda:0", "bf16-mixed", True),
        ("cuda:0", "bf16-true", False),
        ("cpu", "32-true", False),
    ],
)
def test_steps_are_prepared_ahead_with_a_gpu(place, precision, ahead):
    data = TwoLanguages()
    data.prepare_step = "of another system"
    model = NeuralSystem(**PARTS)
    model.build(data.tasks)
    strategy = SimpleNamespace(root_device=torch.device(place), broadcast=lambda value: value)
    model.trainer = SimpleNamespace(
        strategy=strategy, datamodule=data, precision=precision, ckpt_path=None
    )
    model.setup("test")
    assert data.prepare_step is None
    model.setup("fit")
    assert data.prepare_step == (model.prepare_ahead if ahead else None)


def test_training_batches_are_prepared_where_a_system_wants_it(tmp_path):
    data = BioASQ(cache_dir=tmp_path, builtin_documents=300, batch_size=50)
    data.prepare_data()
    data.setup()
    plain = list(data.train_dataloader())
    data.prepare_step = lambda batch, step: (step, batch["english"].rows.tolist())
    loader = data.train_dataloader()
    assert isinstance(loader, PrefetchLoader)
    assert list(loader) == [(i, batch["english"].rows.tolist()) for i, batch in enumerate(plain)]


def test_what_processes_exchange():
    """Not what never changes, or what no logit depends on; but statistics of batch norm."""
    parts = {"output": Linear, "label_encoder": partial(IdfMean, learned=True)}
    model = NeuralSystem(embedding=partial(WordEmbedding, dim=4), norm=nn.BatchNorm1d, **parts)
    model.build(TwoLanguages().tasks)
    ignored = {*model._ddp_params_and_buffers_to_ignore}
    names = {name for name, _ in model.named_parameters()} | {x for x, _ in model.named_buffers()}
    assert ignored <= names
    assert not any("running_mean" in name for name in ignored)
    assert any("running_mean" in name for name in names)
    kept = {name for name, _ in model.named_parameters()} - ignored
    assert not any("label_encoder" in name or "label_norm" in name for name in kept)
    assert any("document_norm" in name for name in kept)
    assert any("embedding" in name for name in kept)
