"""The cosine of pretrained vectors, against the library's own."""

from functools import partial

import pytest
import torch

from gile_lightning.network.matchers import Cosine
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.tokenizer import TextEncoder
from gile_lightning.common.errors import InputError
from gile_testing.minilm import NAME, SENTENCES, oracle

TEXT = TextEncoder(["insulin", "heart", "UNK"], pretrained=NAME)
NAMES = ["Insulin", "Heart", "Nothing"]
DESCRIPTIONS = ["A hormone of the pancreas.", "The organ that moves the blood.", ""]
LABELS = LabelSet(NAMES, DESCRIPTIONS, [2, 1, 0])


def encoded(documents, reads=frozenset()):
    return Texts.from_flat(*TEXT.documents(documents), *TEXT.subwords(documents))


@pytest.mark.parametrize("of", ["text", "name"])
@pytest.mark.parametrize("ids", [[0, 1, 2], [2, 0]], ids=str)
def test_cosine(of, ids):
    channel = Cosine(TEXT, of=of, scale=4.0)
    index = channel.index(TEXT, LABELS, encoded)
    documents = oracle(SENTENCES)
    labels = oracle(DESCRIPTIONS if of == "text" else NAMES).clone()
    if of == "text":
        labels[2] = 0  # of a text without a subword
    expected = 4 * documents @ labels[ids].T
    found = channel(encoded(SENTENCES), index.take(torch.tensor(ids)))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
    known = encoded(SENTENCES)._replace(vectors=documents)
    found = channel(known, index.take(torch.tensor(ids)))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


def test_only_the_scale_is_learned():
    channel = Cosine(TEXT)
    assert [name for name, _ in channel.named_parameters()] == ["scale"]
    assert channel.state_dict().keys() == {"scale"}
    chosen = channel.index(TEXT, LABELS, encoded).take(torch.arange(3))
    found = channel(encoded(SENTENCES), chosen)
    found.sum().backward()
    torch.testing.assert_close(channel.scale.grad, found.detach().sum())  # in units of 10


def test_no_label_and_no_document():
    channel = Cosine(TEXT)
    none = channel.index(TEXT, LabelSet([], [], []), encoded).take(torch.arange(0))
    assert channel(encoded(SENTENCES), none).shape == (len(SENTENCES), 0)
    some = channel.index(TEXT, LABELS, encoded).take(torch.arange(3))
    assert channel(encoded([]), some).shape == (0, 3)


def test_float64():
    """The vectors of labels may have been made before the model became one of float64."""
    channel = Cosine(TEXT)
    chosen = channel.index(TEXT, LABELS, encoded).take(torch.arange(3))
    before = channel(encoded(SENTENCES), chosen).double()
    found = channel.double()(encoded(SENTENCES), chosen)
    torch.testing.assert_close(found, before, rtol=1e-5, atol=1e-5)


def test_mixed_precision():
    channel = Cosine(TEXT)
    chosen = channel.index(TEXT, LABELS, encoded).take(torch.arange(3))
    expected = channel(encoded(SENTENCES), chosen)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = channel(encoded(SENTENCES), chosen)
    torch.testing.assert_close(found.float(), expected, rtol=0, atol=0.1)


def test_needs_a_pretrained_model():
    with pytest.raises(InputError, match=r"set --data\.pretrained"):
        partial(Cosine)(TextEncoder(["a", "UNK"]))
