"""Pretrained models in 8 bits; the oracle is the same model in float32."""

import pytest

pytest.importorskip("openvino")
pytest.importorskip("nncf")

import numpy as np
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained import Reading, VectorStore, backends, quantized
from gile_lightning.data.pretrained.passages import passage_counts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.sentences import SENTENCES
from gile_testing.small_models import save

TEXTS = [*SENTENCES, "heart", "", "a", "insulin " * 30]


@pytest.fixture(scope="module", autouse=True)
def few_texts():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantized, "TEXTS", 30)
        yield


@pytest.fixture(scope="module")
def name(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    save(folder, "bert")
    return str(folder / "model")


def rows(name, texts=TEXTS):
    found = Reading(name).subwords(texts)
    return torch.from_numpy(np.concatenate(found)), torch.tensor([len(row) for row in found])


def test_long_and_short_texts_are_near_those_in_float32(name):
    exact, found = (
        backends.encode(name, *rows(name), backend) for backend in ("torch", "openvino-int8")
    )
    empty = TEXTS.index("")
    assert found[empty].eq(0).all()
    cosines = torch.nn.functional.cosine_similarity(exact, found)
    assert cosines[torch.arange(len(TEXTS)) != empty].min() > 0.98
    assert not torch.allclose(exact, found, atol=1e-4)  # they are rounded
    assert quantized.cosine(name) > 0.98
    torch.testing.assert_close(found.norm(dim=1), exact.norm(dim=1))


def test_passages_are_near_those_in_float32(name):
    exact, found = (
        backends.encode_with_passages(name, *rows(name), backend)
        for backend in ("torch", "openvino-int8")
    )
    torch.testing.assert_close(found.vectors, backends.encode(name, *rows(name), "openvino-int8"))
    cosines = torch.nn.functional.cosine_similarity(exact.passages, found.passages)
    assert len(cosines) == passage_counts(*rows(name)).sum() > 2 * len(TEXTS)
    assert cosines.min() > 0.95
    assert not torch.allclose(exact.passages, found.passages, atol=1e-4)


def test_a_vector_does_not_depend_on_the_batch(name):
    together = backends.encode(name, *rows(name), "openvino-int8")
    for text, vector in zip(TEXTS, together, strict=True):
        (alone,) = backends.encode(name, *rows(name, [text]), "openvino-int8")
        torch.testing.assert_close(alone, vector, rtol=0, atol=1e-5)


def test_vectors_of_the_backends_are_kept_apart(name, tmp_path):
    subwords, counts = (tensor.numpy() for tensor in rows(name, ["heart failure"]))
    exact, rounded = (VectorStore(name, tmp_path, b) for b in ("torch", "openvino-int8"))
    rounded.fill([(subwords, counts)])
    with pytest.raises(InputError, match="vectors are missing"):
        exact.find(subwords, counts)
    exact.fill([(subwords, counts)])
    assert exact.texts.folder != rounded.texts.folder
    assert not torch.equal(exact.find(subwords, counts), rounded.find(subwords, counts))


def test_another_device_is_refused(name):
    elsewhere = (tensor.to("meta") for tensor in rows(name))
    with pytest.raises(InputError, match="runs on a CPU, not on meta: set it to torch"):
        backends.encode(name, *elsewhere, "openvino-int8")


def test_a_prompt_that_pooling_leaves_out_is_refused(name):
    subwords, counts = rows(name, ["heart"])
    subwords[:2] = ~subwords[:2]
    with pytest.raises(InputError, match=r"set data\.pretrained_backend to torch, or doc"):
        backends.encode(name, subwords, counts, "openvino-int8")


def test_a_model_that_cannot_be_converted_is_refused(tmp_path):
    save(tmp_path, "gemma3_text")
    other = str(tmp_path / "model")
    with pytest.raises(InputError, match=r"OpenVINO cannot run this model .*backend to torch"):
        backends.encode(other, *rows(other), "openvino-int8")


@pytest.mark.parametrize(
    ("bound", "message"), [("SAME", "computes other vectors"), ("LEAST", "loses too much")]
)
def test_a_model_that_loses_too_much_is_refused(name, tmp_path, monkeypatch, bound, message):
    monkeypatch.setattr(quantized, bound, 1.1)
    monkeypatch.setattr(quantized, "TEXTS", 3)
    monkeypatch.setattr("nncf.quantize", lambda model, *_, **__: model)
    with pytest.raises(InputError, match=message):
        quantized._quantize(name, tmp_path)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    Tokenizer(["UNK"], pretrained="some/model")
    with pytest.raises(InputError, match=r"openvino and nncf: pip install 'gile_lightning\[openv"):
        Tokenizer(["UNK"], pretrained="some/model", pretrained_backend="openvino-int8")
