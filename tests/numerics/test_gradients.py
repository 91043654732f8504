"""Gradients against finite differences, in float64: of every part, within whole training steps."""

import importlib
import inspect
import pkgutil

import pytest
import torch
from torch import nn

from gile_lightning import network, training
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import pretrained
from gile_lightning.network.matchers import BestPassage, Cosine, DistilledCosine
from gile_lightning.training.losses import Loss
from gile_lightning.training.samplers import LabelSampler
from gile_testing.mentions import TEXT, encoded, label_set
from gile_testing.models import MODELS, NAME, model, parts_of_a_step
from gile_testing.two_languages import DOCUMENTS, PARTS, ragged

BATCH = ragged(*DOCUMENTS[NAME][0])
KINDS = (nn.Module, torch.autograd.Function, Loss, LabelSampler)
ELSEWHERE = {
    "Pretrained": "a transformer of another library, or vectors that are given",
    "BestPassage": "checked below",
    "Cosine": "checked below",
    "DistilledCosine": "checked below",
    "_Rows": "runs on devices alone; tests/network/encoders/test_sparse_rows.py",
    **dict.fromkeys(("EncodedLabels", "CosineLabels", "DistilledLabels"), "labels, not trained"),
    **dict.fromkeys(("BagLabels", "IndexedLabels", "MentionLabels"), "labels, not trained"),
}


@pytest.fixture(autouse=True)
def double():
    """Compute in float64, as `--trainer.precision 64-true` does."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def step(made):
    return made.training_step({NAME: BATCH}, 0)


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind != "sparse"])
def test_of_a_training_step(kind):
    made = model(MODELS[kind]).double()
    parameters = [p for p in made.parameters() if p.requires_grad]
    assert torch.autograd.gradcheck(lambda *_: step(made), parameters, fast_mode=True)


def test_sparse_gradients_are_the_dense_ones():
    """Which `gradcheck` does not take."""
    found = []
    for kind in ("sparse", "WAN, Dense"):
        made = model(
            MODELS["AllLabels"] | {"embedding": MODELS[kind].get("embedding", PARTS["embedding"])}
        )
        step(made).backward()
        found.append({name: p.grad for name, p in made.named_parameters()})
    (sparse, dense), key = found, "networks.english.embedding.weight"
    assert sparse[key].is_sparse
    assert not dense[key].is_sparse
    for name, gradient in dense.items():
        torch.testing.assert_close(sparse[name].to_dense(), gradient, rtol=1e-12, atol=1e-14)


def test_no_part_is_forgotten():
    """A new class of these rooms needs a model here that runs it."""
    parts = set()
    for room in (network, training):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            for name, kind in vars(importlib.import_module(module.name)).items():
                own = inspect.isclass(kind) and kind.__module__ == module.name
                if own and issubclass(kind, KINDS) and not inspect.isabstract(kind):
                    parts.add(name)
    assert len(parts) > 40
    found = set().union(*(parts_of_a_step(model(MODELS[kind]), BATCH) for kind in MODELS))
    found |= ELSEWHERE.keys()
    # from which GILEOnlyLabel and GILEOnlyInput are made
    assert parts - found == {"OneProjection"}
    assert parts >= ELSEWHERE.keys()


@pytest.mark.parametrize("of", ["text", "name"])
def test_of_the_cosine_of_given_vectors(of, monkeypatch):
    monkeypatch.setattr(pretrained, "dimension", lambda name: 3)
    matcher = Cosine(Tokenizer(TEXT.vocabulary, pretrained="a stand-in"), of=of)

    def given(texts, inputs=frozenset()):
        return Texts(*encoded(texts))._replace(vectors=torch.randn(len(texts), 3))

    torch.manual_seed(2)
    labels = matcher.prepare_labels(TEXT, label_set(), given).select(torch.arange(7))
    documents = given([["a", "b"], ["c"]])
    assert torch.autograd.gradcheck(lambda _: matcher(documents, labels), (matcher.scale,))


def test_of_the_best_passage_of_given_vectors(monkeypatch):
    monkeypatch.setattr(pretrained, "dimension", lambda name: 3)
    matcher = BestPassage(Tokenizer(TEXT.vocabulary, pretrained="a stand-in"))
    torch.manual_seed(3)
    documents = Texts(*encoded([["a", "b"], ["c"], []]))._replace(
        passages=torch.randn(4, 3), passage_counts=torch.tensor([3, 1, 0])
    )
    labels = torch.randn(7, 3)
    assert torch.autograd.gradcheck(lambda _: matcher(documents, labels), (matcher.scale,))


def test_of_the_distilled_cosine():
    torch.manual_seed(2)
    tokenizer = Tokenizer(TEXT.vocabulary, pretrained="a stand-in")
    matcher = DistilledCosine(tokenizer, dim=3)
    matcher.vectors.normal_()
    prepared = matcher.prepare_labels(tokenizer, label_set(), lambda texts, _: encoded(texts))
    labels = prepared.select(torch.arange(7))
    assert torch.autograd.gradcheck(lambda _: matcher(encoded(), labels), (matcher.scale,))
