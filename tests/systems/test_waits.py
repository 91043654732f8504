"""How often a step would make the host wait for a device, counted on a stand-in for one.

The stand-in also computes, so that all results are held to those of the CPU. It cannot run fused
optimizers, which wait for nothing either.
"""

from functools import partial
from types import SimpleNamespace

import pytest
import torch

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.metrics.evaluation import Evaluation
from gile_lightning.network import LabelResidual, Ridge
from gile_lightning.network.encoders import (
    HAN,
    HNN,
    BiGRU,
    Concatenation,
    Dense,
    HashedWords,
    IdfMean,
    Pretrained,
    WordEmbedding,
)
from gile_lightning.network.matchers import Cosine, LexicalMatch, NameMention
from gile_lightning.network.outputs import Linear
from gile_lightning.systems import NeuralSystem
from gile_lightning.training.losses import SoftmaxCrossEntropy
from gile_lightning.training.samplers import (
    AllLabels,
    HardLabels,
    PopularLabels,
    SharedUniformLabels,
    UniformLabels,
)
from gile_testing.stand_in_device import DeviceTensor, StandInDevice, move
from gile_testing.two_languages import DOCUMENTS, PARTS, languages, ragged

NAME = "english"
SUBLINEAR = partial(IdfMean, sublinear_tf=True)
FROZEN = {
    "embedding": partial(WordEmbedding, dim=6, trainable=False),
    "encoder": SUBLINEAR,
    "label_encoder": SUBLINEAR,
    "sampler": SharedUniformLabels(0.5),
}
SCRATCH = FROZEN | {
    "matchers": [partial(LexicalMatch, stemmer="english"), partial(NameMention, hidden=3)],
    "label_residual": LabelResidual,
    "ridge": partial(Ridge, word_features=8),
    "label_dropout": 0.5,
}
BOTH = partial(Concatenation, encoders=[Pretrained, SUBLINEAR])
MODELS = {
    "GILE-WAN": {"sampler": UniformLabels(0.5)},
    "sparse": {"embedding": partial(WordEmbedding, dim=6, sparse=True)},
    "HAN": {"encoder": partial(HAN, layer=partial(Dense, dim=5))},
    "HAN, biGRU": {"encoder": partial(HAN, layer=partial(BiGRU, dim=3))},
    "HNN": {"encoder": partial(HNN, layer=partial(Dense, dim=5))},
    "hashed": {"encoder": partial(HashedWords, dim=16)},
    "linear": {"output": Linear, "sampler": AllLabels(), "loss": SoftmaxCrossEntropy()},
    "popular, importance": {"sampler": PopularLabels(0.5, correction="importance")},
    "uniform, log_q": {"sampler": SharedUniformLabels(0.5, correction="log_q")},
    "hard": {"sampler": HardLabels(hard=1, random=1)},
    "best_scratch": SCRATCH,
    "best": SCRATCH
    | {
        "encoder": BOTH,
        "label_encoder": BOTH,
        "matchers": [*SCRATCH["matchers"], Cosine],
        "ridge": Ridge,
    },
}
TRAINING = dict.fromkeys(MODELS, 0)
"""Waits of the forward and the backward pass, labels drawn and their texts gathered."""

RANKED = ("seen", "unseen", "all")
VALIDATION = 1
"""Waits of a step: whether the model diverged."""

PREDICTION = 1
"""Waits of a call: the copy of the best labels."""


@pytest.fixture
def make(monkeypatch):
    """Makes the same model each time; vectors of a pretrained encoder are random."""

    def set_tokenizer(self, tokenizer):
        self.output_dim = 4

    def vectors(count):
        return torch.randn(count, 4, generator=torch.Generator().manual_seed(count))

    def encode(tokenizer, texts, inputs, **places):
        encoded = plain(tokenizer, texts, frozenset({"words"}), **places)
        return encoded._replace(vectors=vectors(len(texts))) if "vectors" in inputs else encoded

    from gile_lightning.systems import label_encoding, neural

    plain, autocast = label_encoding.encode_texts, torch.autocast
    # PyTorch knows no autocast of the stand-in
    monkeypatch.setattr(torch, "autocast", lambda kind, **options: autocast("cpu", **options))
    monkeypatch.setattr(Pretrained, "set_tokenizer", set_tokenizer)
    monkeypatch.setattr(label_encoding, "encode_texts", encode)
    monkeypatch.setattr(neural, "fingerprints", lambda *args: {})

    def made(kind) -> tuple[NeuralSystem, RaggedBatch]:
        torch.manual_seed(1)
        model = NeuralSystem(**PARTS | MODELS[kind])
        model.build({NAME: Task(*_parts())})
        for parameter in model.parameters():
            parameter.data.add_(torch.randn_like(parameter) / 10)
        model.log = lambda *args, **options: None
        model.generator = lambda *place: torch.Generator().manual_seed(3)
        batch = ragged(*DOCUMENTS[NAME][0])
        return model, batch._replace(vectors=vectors(len(batch.label_counts)))

    return made


def _parts():
    task = languages()[NAME]
    return task.tokenizer, task.labels


def step(model, batch):
    torch.manual_seed(2)
    loss = model.training_step({NAME: batch}, 0)
    loss.backward()
    return loss.detach(), {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


def on_host(value):
    value = value.inner if isinstance(value, DeviceTensor) else value
    return value.to_dense() if value.is_sparse else value


@pytest.mark.parametrize("kind", MODELS)
def test_training_step(make, kind):
    expected, gradients = step(*make(kind))
    model, batch = make(kind)
    move(model)
    with StandInDevice() as device:
        loss, found = step(model, batch)
    assert sum(device.waits.values()) <= TRAINING[kind], device.waits
    torch.testing.assert_close(on_host(loss), expected)
    assert found.keys() == gradients.keys()
    for name, gradient in found.items():
        assert isinstance(gradient, DeviceTensor)
        torch.testing.assert_close(on_host(gradient), on_host(gradients[name]))


@pytest.mark.parametrize("kind", ["GILE-WAN", "HAN", "best_scratch", "best"])
def test_validation_step_and_prediction(make, kind):
    totals, best = [], []
    for here in (True, False):
        model, batch = make(kind)
        model.eval()
        labels = model.tasks[NAME].labels
        evaluation = Evaluation(labels, True, RANKED, keep=True)  # as in a test
        model._evaluations[NAME] = evaluation
        model._trainer = SimpleNamespace(testing=False)
        with StandInDevice() as device, torch.no_grad():
            if not here:
                move(model)
            model._prepared[NAME] = model.prepare_labels(NAME, labels)
            model._training_ids[NAME] = torch.arange(len(labels))
            device.waits.clear()
            model.validation_step({NAME: batch}, 0)
            assert sum(device.waits.values()) <= (0 if here else VALIDATION), device.waits
            device.waits.clear()
            logits = model.score(NAME, batch.texts, model._prepared[NAME])
            best.append(logits.topk(2).values.cpu())
            assert sum(device.waits.values()) <= (0 if here else PREDICTION), device.waits
        sums = [ranking.totals for ranking in evaluation.rankings.values()]
        totals.append([on_host(x) for x in (*sums, evaluation.micro.totals)])
    torch.testing.assert_close(best[1], best[0])
    torch.testing.assert_close(totals[1], totals[0])
