"""The cosine of pretrained vectors, against the library's own."""

from functools import partial

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers import Cosine
from gile_testing.minilm import NAME, SENTENCES, oracle

TEXT = Tokenizer(["insulin", "heart", "UNK"], pretrained=NAME)
NAMES = ["Insulin", "Heart", "Nothing"]
DESCRIPTIONS = ["A hormone of the pancreas.", "The organ that moves the blood.", ""]
LABELS = LabelSet(NAMES, DESCRIPTIONS, [2, 1, 0])


def encoded(documents, reads=frozenset()):
    return Texts.from_flat(*TEXT.documents(documents), *TEXT.subwords(documents))


@pytest.mark.parametrize("of", ["text", "name"])
@pytest.mark.parametrize("ids", [[0, 1, 2], [2, 0]], ids=str)
def test_cosine(of, ids):
    matcher = Cosine(TEXT, of=of, scale=4.0)
    index = matcher.index(TEXT, LABELS, encoded)
    documents = oracle(SENTENCES)
    labels = oracle(DESCRIPTIONS if of == "text" else NAMES).clone()
    if of == "text":
        labels[2] = 0  # of a text without a subword
    expected = 4 * documents @ labels[ids].T
    found = matcher(encoded(SENTENCES), index.gather(torch.tensor(ids)))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
    known = encoded(SENTENCES)._replace(vectors=documents)
    found = matcher(known, index.gather(torch.tensor(ids)))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


def test_only_the_scale_is_learned():
    matcher = Cosine(TEXT)
    assert [name for name, _ in matcher.named_parameters()] == ["scale"]
    assert matcher.state_dict().keys() == {"scale"}
    chosen = matcher.index(TEXT, LABELS, encoded).take(torch.arange(3))
    found = matcher(encoded(SENTENCES), chosen)
    found.sum().backward()
    torch.testing.assert_close(matcher.scale.grad, found.detach().sum())  # in units of 10


def test_no_label_and_no_document():
    matcher = Cosine(TEXT)
    none = matcher.index(TEXT, LabelSet([], [], []), encoded).take(torch.arange(0))
    assert matcher(encoded(SENTENCES), none).shape == (len(SENTENCES), 0)
    some = matcher.index(TEXT, LABELS, encoded).take(torch.arange(3))
    assert matcher(encoded([]), some).shape == (0, 3)


def test_float64():
    """The vectors of labels may have been made before the model became one of float64."""
    matcher = Cosine(TEXT)
    chosen = matcher.index(TEXT, LABELS, encoded).take(torch.arange(3))
    before = matcher(encoded(SENTENCES), chosen).double()
    found = matcher.double()(encoded(SENTENCES), chosen)
    torch.testing.assert_close(found, before, rtol=1e-5, atol=1e-5)


def test_mixed_precision():
    matcher = Cosine(TEXT)
    chosen = matcher.index(TEXT, LABELS, encoded).take(torch.arange(3))
    expected = matcher(encoded(SENTENCES), chosen)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = matcher(encoded(SENTENCES), chosen)
    torch.testing.assert_close(found.float(), expected, rtol=0, atol=0.1)


def test_needs_a_pretrained_model():
    with pytest.raises(InputError, match=r"set --data\.pretrained"):
        partial(Cosine)(Tokenizer(["a", "UNK"]))
