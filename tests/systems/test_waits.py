"""How often a step would make the host wait for a device, counted on a stand-in for one.

The stand-in also computes, so that all results are held to those of the CPU. docs/devices.md has
the counts.
"""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.optim import optimizer as optimizers

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.metrics.evaluation import Evaluation
from gile_lightning.network import LabelResidual, Network, Ridge
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
from gile_lightning.network.matchers import (
    BestPassage,
    CharacterMatch,
    Cosine,
    LexicalMatch,
    LexicalPassage,
    NameMention,
)
from gile_lightning.network.outputs import Linear
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.gradient import Adam
from gile_lightning.systems.predictor import Predictor
from gile_lightning.training.losses import SoftmaxCrossEntropy
from gile_lightning.training.optimizers import LazyAdam
from gile_lightning.training.samplers import (
    AllLabels,
    HardLabels,
    PopularLabels,
    SharedUniformLabels,
    UniformLabels,
)
from gile_testing.stand_in_device import DEVICE, DeviceTensor, StandInDevice, move
from gile_testing.two_languages import DOCUMENTS, PARTS, languages, ragged

NAME = "english"
EPS = 1e-3  # or Adam makes whole steps of what is rounding in a gradient
SUBLINEAR = partial(IdfMean, sublinear_tf=True)
FROZEN = {
    "embedding": partial(WordEmbedding, dim=6, trainable=False),
    "encoder": SUBLINEAR,
    "label_encoder": SUBLINEAR,
    "sampler": SharedUniformLabels(0.5),
}
SCRATCH = FROZEN | {
    "matchers": [
        partial(LexicalMatch, stemmer="english"),
        partial(LexicalPassage, stemmer="english", passage_words=4),
        partial(NameMention, hidden=3, taxonomy=True),
        CharacterMatch,
    ],
    "label_residual": LabelResidual,
    "ridge": partial(Ridge, word_features=8, ngram_features=8),
    "label_dropout": 0.5,
}
BOTH = partial(Concatenation, encoders=[Pretrained, SUBLINEAR])
MODELS = {
    "GILE-WAN": {"sampler": UniformLabels(0.5)},
    "fast": {  # sweeps/fast.yaml
        "embedding": partial(WordEmbedding, dim=6, sparse=True),
        "optimizer": partial(LazyAdam, eps=EPS),
    },
    "HAN": {"encoder": partial(HAN, layer=partial(Dense, dim=5))},
    "HAN, biGRU": {"encoder": partial(HAN, layer=partial(BiGRU, dim=3))},
    "HNN": {"encoder": partial(HNN, layer=partial(Dense, dim=5))},
    "hashed": {"encoder": partial(HashedWords, dim=16)},
    "linear": {"output": Linear, "sampler": AllLabels(), "loss": SoftmaxCrossEntropy()},
    "popular, importance": {"sampler": PopularLabels(0.5, correction="importance")},
    "uniform, log_q": {"sampler": SharedUniformLabels(0.5, correction="log_q")},
    "hard": {"sampler": HardLabels(hard=1, random=1)},
    "matchers": {"matchers": SCRATCH["matchers"]},
    "best_scratch": SCRATCH,
    "best": SCRATCH
    | {
        "encoder": BOTH,
        "label_encoder": BOTH,
        "matchers": [*SCRATCH["matchers"], Cosine, partial(Cosine, of="name"), BestPassage],
        "ridge": partial(Ridge, ngram_features=8),
    },
}
TRAINING = dict.fromkeys(MODELS, 0)
"""Waits of a step: labels are drawn, gradients clipped, and weights changed by Adam."""

SCORED = ("GILE-WAN", "fast", "HAN", "best_scratch", "best")
RANKED = ("seen", "unseen", "all")
VALIDATION = 1
"""Waits of a step: whether the model diverged."""

PREDICTION = 1
"""Waits of a batch of texts: the copy of the best labels."""


@pytest.fixture
def make(monkeypatch):
    """Makes the same model each time; vectors of a pretrained encoder are random."""

    def set_tokenizer(self, tokenizer):
        self.output_dim = 4

    def vectors(count):
        return torch.randn(count, 4, generator=torch.Generator().manual_seed(count))

    def of_documents(count):
        passages = torch.arange(count) % 3
        found = {"passages": vectors(int(passages.sum())), "passage_counts": passages}
        return {"vectors": vectors(count), **found}

    def encode(tokenizer, texts, inputs, **places):
        encoded = plain(tokenizer, texts, frozenset({"words"}), **places)
        return encoded._replace(vectors=vectors(len(texts))) if "vectors" in inputs else encoded

    def encode_documents(predictor, texts):
        return encode_plainly(predictor, texts)._replace(**of_documents(len(texts)))

    from gile_lightning.systems import label_encoding, neural

    plain, autocast = label_encoding.encode_texts, torch.autocast
    # PyTorch knows no autocast of the stand-in
    monkeypatch.setattr(torch, "autocast", lambda kind, **options: autocast("cpu", **options))
    monkeypatch.setattr(Pretrained, "set_tokenizer", set_tokenizer)
    monkeypatch.setattr(label_encoding, "encode_texts", encode)
    monkeypatch.setattr(neural, "fingerprints", lambda *args: {})
    monkeypatch.setattr(NeuralSystem, "to", lambda self, device: self)
    monkeypatch.setattr(NeuralSystem, "reads_subwords", lambda self, name: False)
    encode_plainly = Predictor._encode
    monkeypatch.setattr(Predictor, "_encode", encode_documents)
    fused = [*optimizers._get_fused_kernels_supported_devices(), DEVICE.type]
    monkeypatch.setattr(optimizers, "_get_fused_kernels_supported_devices", lambda: fused)

    def made(kind) -> tuple[NeuralSystem, RaggedBatch]:
        torch.manual_seed(1)
        model = NeuralSystem(**PARTS | {"optimizer": partial(Adam, eps=EPS)} | MODELS[kind])
        model.build({NAME: Task(*_parts())})
        for parameter in model.parameters():
            parameter.data.add_(torch.randn_like(parameter) / 10)
        model.log = lambda *args, **options: None
        model.generator = lambda *place: torch.Generator().manual_seed(3)
        batch = ragged(*DOCUMENTS[NAME][0])
        return model, batch._replace(**of_documents(len(batch.label_counts)))

    return made


def _parts():
    task = languages()[NAME]
    return task.tokenizer, task.labels


def step(model, batch):
    torch.manual_seed(2)
    optimizer = model.configure_optimizers()
    loss = model.training_step({NAME: batch}, 0)
    loss.backward()
    model.configure_gradient_clipping(optimizer, 0.1)
    optimizer.step()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    return loss.detach(), gradients, {n: p.detach() for n, p in model.named_parameters()}


def on_host(value):
    value = value.inner if isinstance(value, DeviceTensor) else value
    return value.to_dense() if value.is_sparse else value


@pytest.mark.parametrize("kind", MODELS)
def test_training_step(make, kind):
    expected, *others = step(*make(kind))
    model, batch = make(kind)
    move(model)
    with StandInDevice() as device:
        loss, *found = step(model, batch)
    assert sum(device.waits.values()) == TRAINING[kind], device.waits
    torch.testing.assert_close(on_host(loss), expected)
    for tensors, on_cpu in zip(found, others, strict=True):
        assert all(isinstance(x, DeviceTensor) for x in tensors.values())
        there = {name: on_host(x) for name, x in tensors.items()}
        torch.testing.assert_close(there, {name: on_host(x) for name, x in on_cpu.items()})


@pytest.mark.parametrize("kind", ["matchers", "best_scratch", "best"])
def test_a_prepared_step_looks_nothing_up(make, monkeypatch, kind):
    model, batch = make(kind)
    torch.manual_seed(2)  # of dropout
    expected = model.training_step({NAME: batch}, 0)
    prepared = model.prepare_step(NAME, batch, 0)
    looked_up = []

    def refuse(owner, name):
        monkeypatch.setattr(owner, name, lambda *args, **options: looked_up.append(name))

    for matcher in (LexicalMatch, LexicalPassage, CharacterMatch):
        refuse(matcher, "find_terms")
    refuse(LexicalPassage, "_passages")
    refuse(NameMention, "features")
    if kind != "matchers":  # whose words are trained
        for name in ("encode_documents", "encode_labels", "ridge_features"):
            refuse(Network, name)
    torch.manual_seed(2)
    assert torch.equal(model.training_step({NAME: prepared}, 0), expected)
    assert not looked_up


@pytest.mark.parametrize("kind", SCORED)
def test_validation_step(make, kind):
    totals = []
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
            assert sum(device.waits.values()) == (0 if here else VALIDATION), device.waits
        sums = [ranking.totals for ranking in evaluation.rankings.values()]
        totals.append([on_host(x) for x in (*sums, evaluation.micro.totals)])
    torch.testing.assert_close(totals[1], totals[0])


@pytest.mark.parametrize("kind", [*SCORED, "matchers"])
def test_explanation(make, monkeypatch, kind):
    """It may wait, but joins no tensors of two devices, and says what one on the host says."""
    monkeypatch.setattr(DeviceTensor, "tolist", lambda self: self.inner.tolist())
    found = []
    for here in (True, False):
        model, batch = make(kind)
        model.eval()
        with StandInDevice(), torch.no_grad():
            if not here:
                move(model)
            prepared = model.prepare_labels(NAME, model.tasks[NAME].labels)
            given = NAME, batch.texts, prepared, torch.arange(len(prepared))
            parts = model.contributions(*given), model.evidence(*given).words
        found.append([{key: on_host(x) for key, x in part.items()} for part in parts])
    assert found[0][0]
    torch.testing.assert_close(found[1], found[0])


def test_the_page_has_these_counts():
    page = (Path(__file__).parents[2] / "docs/devices.md").read_text()
    for kind in SCORED:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {kind} |")]
        _, now, validation, _, prediction = map(int, row.split("|")[2:-1])
        assert [now, validation, prediction] == [TRAINING[kind], VALIDATION, PREDICTION]


class Reversed:
    """A second stage that turns the best labels round."""

    depth, threshold = 3, 0.5

    def rerank(self, texts, labels, ids, logits, log_odds):
        assert all(x.device.type == "cpu" for x in (ids, logits, log_odds))
        assert logits.shape == (len(texts), self.depth)
        assert (logits.diff() <= 0).all()
        places = torch.arange(self.depth).flip(0).expand(ids.shape)
        return places, log_odds.gather(1, places)


@pytest.mark.parametrize("second_stage", [None, Reversed()], ids=["", "second stage"])
@pytest.mark.parametrize("kind", SCORED)
def test_prediction(make, kind, second_stage):
    texts = ["liver rat kidney", "mouse. rat", "", "kidney"]
    predictions = []
    for here in (True, False):
        model = make(kind)[0]
        with StandInDevice() as device:
            if not here:
                move(model)
            predictor = Predictor(model)
            predictor.reranker = second_stage
            device.waits.clear()
            found = [*predictor.stream(texts, top_k=2, batch_size=2)]
            assert sum(device.waits.values()) == (0 if here else 2 * PREDICTION), device.waits
        predictions.append([[label["name"] for label in labels] for labels in found])
        predictions.append([label["score"] for labels in found for label in labels])
    assert [len(labels) for labels in predictions[0]] == [2, 2, 0, 2]
    assert predictions[2] == predictions[0]
    assert predictions[3] == pytest.approx(predictions[1], rel=1e-5)
