"""The cosine of pretrained vectors, against the library's own."""

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers import Cosine
from gile_testing.minilm import NAME, oracle
from gile_testing.sentences import SENTENCES

TEXT = Tokenizer(["insulin", "heart", "UNK"], pretrained=NAME)
NAMES = ["Insulin", "Heart", "Nothing"]
DESCRIPTIONS = ["A hormone of the pancreas.", "The organ that moves the blood.", ""]
LABELS = LabelSet(NAMES, DESCRIPTIONS, [2, 1, 0])


def encoded(documents, inputs=frozenset()):
    return Texts.from_flat(*TEXT.documents(documents), *TEXT.subwords(documents))


def select(matcher, ids=(0, 1, 2), labels=LABELS):
    ids = torch.tensor(ids, dtype=torch.long)
    return matcher.prepare_labels(TEXT, labels, encoded).select(ids)


@pytest.mark.parametrize("of", ["text", "name"])
@pytest.mark.parametrize("ids", [[0, 1, 2], [2, 0]], ids=str)
def test_cosine(of, ids):
    matcher = Cosine(TEXT, of=of, scale=4.0)
    labels, documents = select(matcher, ids), encoded(SENTENCES)
    vectors = oracle(SENTENCES)
    of_labels = oracle(DESCRIPTIONS if of == "text" else NAMES).clone()
    if of == "text":
        of_labels[2] = 0  # of a text without a subword
    expected = 4 * vectors @ of_labels[ids].T
    for texts in (documents, documents._replace(vectors=vectors)):
        torch.testing.assert_close(matcher(texts, labels), expected, rtol=0, atol=1e-4)


def test_only_the_scale_is_learned():
    matcher = Cosine(TEXT)
    assert [name for name, _ in matcher.named_parameters()] == ["scale"]
    assert matcher.state_dict().keys() == {"scale"}
    found = matcher(encoded(SENTENCES), select(matcher))
    found.sum().backward()
    torch.testing.assert_close(matcher.scale.grad, found.detach().sum())  # in units of 10


def test_no_label_and_no_document():
    matcher = Cosine(TEXT)
    none = select(matcher, (), LabelSet([], [], []))
    assert matcher(encoded(SENTENCES), none).shape == (len(SENTENCES), 0)
    assert matcher(encoded([]), select(matcher)).shape == (0, 3)


def test_precision():
    """The vectors of labels may have been made before the model became one of float64."""
    matcher = Cosine(TEXT)
    labels, documents = select(matcher), encoded(SENTENCES)
    expected = matcher(documents, labels)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = matcher(documents, labels).float()
    torch.testing.assert_close(mixed, expected, rtol=0, atol=0.1)
    found = matcher.double()(documents, labels)
    torch.testing.assert_close(found, expected.double(), rtol=1e-5, atol=1e-5)


def test_needs_a_pretrained_model():
    with pytest.raises(InputError, match=r"set --data\.pretrained"):
        Cosine(Tokenizer(["a", "UNK"]))
