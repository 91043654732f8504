"""The best passage of a document, against means of the outputs that the library gives."""

from dataclasses import replace

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.pretrained.passages import PASSAGE
from gile_lightning.data.pretrained.transformer import frozen
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers import BestPassage
from gile_testing.minilm import DIM, NAME, oracle

TEXT = Tokenizer(["insulin", "heart", "UNK"], pretrained=NAME, max_windows=3)
NAMES = ["Insulin", "Heart"]
DESCRIPTIONS = ["A hormone of the pancreas.", "The organ that moves the blood."]
LABELS = LabelSet(NAMES, DESCRIPTIONS, [2, 1])
WORDS = ["the", "heart", "moves", "blood", "and", "insulin", "is", "a", "hormone"]
BACKENDS = ("torch", "torch-bfloat16")
DOCUMENTS = [" ".join((WORDS * 12)[:100]), "insulin", "", " ".join(WORDS)]


def encoded(documents, inputs=frozenset()):
    return Texts.from_flat(*TEXT.documents(documents), *TEXT.subwords(documents))


def select(matcher, labels=LABELS):
    return matcher.prepare_labels(TEXT, labels, encoded).select(torch.arange(len(labels)))


def passages_of(text):
    """Average the outputs of each passage of a text of one window: [P, d]."""
    outputs = frozen(NAME).model.encode(text, output_value="token_embeddings")
    number = -(-len(outputs) // PASSAGE)
    places = torch.arange(len(outputs)) * number // len(outputs)
    means = [outputs[places == i].mean(0) for i in range(number)]
    return torch.nn.functional.normalize(torch.stack(means))


@pytest.mark.parametrize("of", ["text", "name"])
def test_best_passage(of):
    matcher = BestPassage(TEXT, of=of, scale=4.0)
    labels = oracle(DESCRIPTIONS if of == "text" else NAMES)
    parts = [passages_of(text) if text else torch.empty(0, DIM) for text in DOCUMENTS]
    best = [(own @ labels.T).amax(0) if len(own) else torch.zeros(2) for own in parts]
    expected = 4 * torch.stack(best)
    assert not torch.allclose(expected[0], 4 * parts[0][:1] @ labels.T)
    documents = encoded(DOCUMENTS)
    found = matcher.encoder.encode_with_passages(documents, torch.device("cpu"))
    assert found.passage_counts.tolist() == [len(own) for own in parts]
    torch.testing.assert_close(found.passages, torch.cat(parts), rtol=0, atol=1e-5)
    torch.testing.assert_close(found.vectors[[1, 3]], oracle([DOCUMENTS[1], DOCUMENTS[3]]))
    with_passages = documents._replace(**found._asdict())
    for texts in (documents, with_passages):
        torch.testing.assert_close(matcher(texts, select(matcher)), expected, rtol=0, atol=1e-4)
    parts = [matcher(part, select(matcher)) for part in with_passages.split(2)]
    torch.testing.assert_close(torch.cat(parts), expected, rtol=0, atol=1e-4)


def test_few_scores_at_a_time(monkeypatch):
    matcher, documents = BestPassage(TEXT), encoded(DOCUMENTS)
    expected = matcher(documents, select(matcher))
    monkeypatch.setattr("gile_lightning.network.matchers.best_passage.COSINES", 1)
    torch.testing.assert_close(matcher(documents, select(matcher)), expected)


def test_only_the_scale_is_learned():
    matcher = BestPassage(TEXT)
    assert [name for name, _ in matcher.named_parameters()] == ["scale"]
    found = matcher(encoded(DOCUMENTS), select(matcher))
    found.sum().backward()
    torch.testing.assert_close(matcher.scale.grad, found.detach().sum())  # in units of 10


def test_no_label_and_no_document():
    matcher = BestPassage(TEXT)
    assert matcher(encoded(DOCUMENTS), select(matcher, LabelSet([], [], []))).shape == (4, 0)
    assert matcher(encoded([]), select(matcher)).shape == (0, 2)


def test_precision():
    matcher = BestPassage(TEXT)
    labels, documents = select(matcher), encoded(DOCUMENTS)
    expected = matcher(documents, labels)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = matcher(documents, labels).float()
    torch.testing.assert_close(mixed, expected, rtol=0, atol=0.1)
    found = matcher.double()(documents, labels)
    torch.testing.assert_close(found, expected.double(), rtol=1e-5, atol=1e-5)


def test_cosines_are_rounded_as_the_encoder_is():
    """With an encoder in bfloat16, whose 8 bits change a cosine by at most some 0.01."""
    exact, rounded = (BestPassage(replace(TEXT, pretrained_backend=x)) for x in BACKENDS)
    labels, documents = select(exact), encoded(DOCUMENTS)
    passages = exact.encoder.encode_with_passages(documents, torch.device("cpu"))
    documents = documents._replace(**passages._asdict())
    expected, found = exact(documents, labels), rounded(documents, labels)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=0, atol=0.1)  # the scale is 10
    assert not torch.equal(found, expected)


def test_texts_without_subwords_are_refused():
    matcher = BestPassage(TEXT)
    with pytest.raises(InputError, match=r"set --data\.pretrained"):
        matcher(encoded(DOCUMENTS)._replace(subwords=None), select(matcher))
